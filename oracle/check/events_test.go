package check

import (
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// at returns a time of the tests' own clock, in milliseconds.
func at(ms int) time.Time { return time.Unix(1_000_000, 0).Add(time.Duration(ms) * time.Millisecond) }

// logOf makes events from words: "create", "start", "exit", "delete", "exec-exit". ":N"
// sets the pid (default 7), and "!" removes the time of the exit. Each event arrives 10
// ms after the previous one.
func logOf(words string) *event.Log {
	l := &event.Log{}
	for i, word := range strings.Fields(words) {
		name, timeless := strings.CutSuffix(word, "!")
		name, pid, _ := strings.Cut(name, ":")
		e := event.Task{Namespace: "default", Container: "c1", PID: 7, Seen: at(10 * i), Sent: at(10 * i)}
		switch pid {
		case "0":
			e.PID = 0
		case "8":
			e.PID = 8
		case "-1":
			e.PID = noPID
		}
		if name == "exec-exit" {
			e.Exec, name = "e1", "exit"
		}
		e.Topic = "/tasks/" + name
		if !timeless && (name == "exit" || name == "delete") {
			e.Exited = at(10 * i)
		}
		l.Add(e)
	}
	return l
}

func TestEvents(t *testing.T) {
	whole := Lifecycle{
		Namespace: "default", Container: "c1", PID: 7, Begun: at(0), Created: at(5), Started: at(15),
		Exited: at(25), ExitedFrom: at(25), Deleted: at(35), NotBefore: at(20),
	}
	other, long, short := whole, whole, whole
	other.Namespace = "moby"
	long.NotBefore = at(500)
	short.NotBefore, short.NotAfter = at(0), at(-40)
	for _, test := range []struct {
		name, events string
		life         Lifecycle
		gaps         []event.Gap
		want         []string // part of each finding
	}{
		{"in order", "create start exit delete", whole, nil, nil},
		{"with an exec", "create start exec-exit exit delete", whole, nil, nil},
		{"the id used again", "create start exit delete create:8 start:8 exit:8 delete:8", whole, nil, nil},
		{"the id used again without a delete", "create start exit create:8 start:8 exit:8 delete:8", whole, nil, nil},
		{"no exit", "create start delete", whole, nil, []string{"/tasks/exit of c1: never arrived"}},
		{"nothing at all", "", whole, nil, []string{"create of", "start of", "exit of", "delete of"}},
		{"not required", "create", Lifecycle{Namespace: "default", Container: "c1", Created: at(5)}, nil, nil},
		{"in another namespace", "create start exit delete", other, nil, []string{
			"create of c1: never", "start of c1: never", "exit of c1: never", "delete of c1: never", "create of c1: came",
			"start of c1: came", "exit of c1: came", "delete of c1: came in the namespace default",
		}},
		{"another pid", "create start exit:8 delete", whole, nil,
			[]string{"exit of c1: has pid 8, but the pid of the container is 7"}},
		{"an end before it ended", "create start exit delete", long, nil,
			[]string{"exit of c1: has the exit time", "delete of c1: has the exit time"}},
		{"an end long after it ended", "create start exit delete", short, nil,
			[]string{"exit of c1: has the exit time", "delete of c1: has the exit time"}},
		{"a create without a pid", "create:0 start exit delete", whole, nil, []string{"/tasks/create of c1: has pid 0"}},
		{"a start with a pid that could not be read", "create start:-1 exit delete", whole, nil,
			[]string{"/tasks/start of c1: has pid -1"}},
		{"a gap before it was due", "create start", whole, []event.Gap{{From: at(1), To: at(24)}},
			[]string{"/tasks/exit of c1: never", "/tasks/delete of c1: never"}},
		{"two exits", "create start exit exit delete", whole, nil, []string{"arrived twice, 10ms apart"}},
		{"an exit after the delete", "create start exit delete exit", whole, nil, []string{"arrived twice"}},
		{"two creates", "create create start exit delete", whole, nil, []string{"/tasks/create of c1: arrived twice"}},
		{"exit before start", "create exit start delete", whole, nil,
			[]string{"/tasks/start of c1: arrived after /tasks/exit"}},
		{"delete before exit", "create start delete exit", whole, nil,
			[]string{"/tasks/exit of c1: arrived after /tasks/delete"}},
		{"no pid", "create start exit:0 delete", whole, nil, []string{"/tasks/exit of c1: has pid 0"}},
		{"a pid that could not be read", "create start exit delete:-1", whole, nil,
			[]string{"/tasks/delete of c1: has pid -1"}},
		{"no time", "create start exit delete!", whole, nil, []string{"/tasks/delete of c1: has no exit time"}},
		{"exec after init", "create start exit exec-exit delete", whole, nil,
			[]string{"after the exit of the container's init"}},
		{"exec twice", "create start exec-exit exec-exit exit delete", whole, nil, []string{"exec e1: arrived twice"}},
		{"missing in a gap", "create start", whole, []event.Gap{{From: at(20), To: at(40)}}, nil},
		{"missing while gap without an end", "create start", whole, []event.Gap{{From: at(20)}}, nil},
		{"a gap before it began", "create start exit", whole, []event.Gap{{From: at(-20), To: at(-10)}},
			[]string{"/tasks/delete of c1: never"}},
		{"twice in a gap", "create start exit exit", whole, []event.Gap{{From: at(20), To: at(40)}},
			[]string{"arrived twice"}},
		{"disorder in a gap", "create delete exit", whole, []event.Gap{{From: at(20), To: at(40)}},
			[]string{"arrived after"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := logOf(test.events)
			for _, g := range test.gaps {
				l.Missed(g.From, g.To)
			}
			found := Events(l.Events(), l.Gaps(), []Lifecycle{test.life})
			if len(found) != len(test.want) {
				t.Fatalf("%d findings, want %d: %v", len(found), len(test.want), found)
			}
			for _, want := range test.want {
				if !contains(found, want) {
					t.Errorf("no finding says %q: %v", want, found)
				}
			}
		})
	}
}

// contains reports whether one of the findings has the words.
func contains(all []finding.Finding, words string) bool {
	for _, f := range all {
		if strings.Contains(wording.Of(f), words) {
			return true
		}
	}
	return false
}
