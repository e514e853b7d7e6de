package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// A topic must be known to package fact, or it cannot be matched.
func TestEveryTopicIsAValueOfItsFact(t *testing.T) {
	topics := append([]string{
		event.TopicCreate, event.TopicStart, event.TopicExit, event.TopicDelete, event.TopicPaused, event.TopicResumed,
		event.TopicExecAdded, event.TopicExecStart, event.TopicOOM,
	}, criview.EventTypes...)
	if known := fact.Topic.Values(); !slices.Equal(known, topics) {
		t.Errorf("topics are\n%q,\nvalues are\n%q", topics, known)
	}
}

// hears sets the events of c0, from words: "create", "start", "exit", "delete",
// "exec-exit". ":N" sets the pid (default 41), and "!" removes the time of the exit. The
// first event arrives at 10 ms, and each other one 10 ms after the previous one.
func hears(words string) func(*harness.History) {
	return func(h *harness.History) {
		h.Events = nil
		for n, word := range strings.Fields(words) {
			name, timeless := strings.CutSuffix(word, "!")
			name, pid, _ := strings.Cut(name, ":")
			came := at(10 * (n + 1))
			e := event.Task{Namespace: daemon.TaskNamespace, Container: "c0", PID: 41, Seen: came, Sent: came}
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
			if e.Topic = "/tasks/" + name; !timeless && (name == "exit" || name == "delete") {
				e.Exited, e.Status = at(30), 7
			}
			h.Events = append(h.Events, e)
		}
		h.Flushed.Events = len(h.Events)
	}
}

// unsubscribed adds a time without a subscription. It has no end if to is 0.
func unsubscribed(from, to int) func(*harness.History) {
	return func(h *harness.History) {
		g := event.Gap{From: at(from)}
		if to != 0 {
			g.To = at(to)
		}
		h.Gaps = append(h.Gaps, g)
	}
}

// endedAt changes the time of the payload's end.
func endedAt(ms int) func(*harness.History) {
	return func(h *harness.History) { h.Instances[0].Payload.ExitedAt, h.Exits[0].At = at(ms), at(ms) }
}

func TestTaskEvents(t *testing.T) {
	elsewhere := func(h *harness.History) {
		for n := range h.Events {
			h.Events[n].Namespace = "moby"
		}
	}
	inTwo := func(h *harness.History) { // an id that the workload does not have
		for _, namespace := range []string{"moby", "default"} {
			h.Events = append(h.Events, event.Task{Namespace: namespace, Container: "c9", Topic: event.TopicStart, PID: 5})
		}
		h.Flushed.Events = len(h.Events)
	}
	for name, test := range map[string]struct {
		change func(*harness.History)
		want   []string // part of each finding
	}{
		"an id in two namespaces":            {also(hears("create start exit delete"), inTwo), nil},
		"in order":                           {hears("create start exit delete"), nil},
		"the id used again":                  {hears("create start exit delete create:8 start:8 exit:8 delete:8"), nil},
		"the id used again without a delete": {hears("create start exit create:8 start:8 exit:8 delete:8"), nil},
		"no exit": {hears("create start delete"),
			[]string{"/tasks/exit of c0: never arrived"}},
		"nothing at all": {hears(""),
			[]string{"create of", "start of", "exit of", "delete of"}},
		"in another namespace": {also(hears("create start exit delete"), elsewhere), []string{
			"create of c0: never", "start of c0: never", "exit of c0: never", "delete of c0: never", "create of c0: came",
			"start of c0: came", "exit of c0: came", "delete of c0: came in the namespace moby",
		}},
		"another pid": {hears("create start exit:8 delete"),
			[]string{"exit of c0: has pid 8, but the pid of the container is 41"}},
		"an end before it ended": {also(hears("create start exit delete"), endedAt(500)),
			[]string{"exit of c0: has the exit time", "delete of c0: has the exit time"}},
		"a create without a pid": {hears("create:0 start exit delete"),
			[]string{"/tasks/create of c0: has pid 0"}},
		"a start with a pid that could not be read": {hears("create start:-1 exit delete"),
			[]string{"/tasks/start of c0: has pid -1"}},
		"a gap before it was due": {also(hears("create start exit"), unsubscribed(1, 24)),
			[]string{"/tasks/delete of c0: never"}},
		"two exits": {hears("create start exit exit delete"),
			[]string{"arrived twice, 10ms apart"}},
		"an exit after the delete": {hears("create start exit delete exit"), []string{"arrived twice"}},
		"two creates": {hears("create create start exit delete"),
			[]string{"/tasks/create of c0: arrived twice"}},
		"exit before start": {hears("create exit start delete"),
			[]string{"/tasks/start of c0: arrived after /tasks/exit"}},
		"delete before exit": {hears("create start delete exit"),
			[]string{"/tasks/exit of c0: arrived after /tasks/delete"}},
		"no pid": {hears("create start exit:0 delete"),
			[]string{"/tasks/exit of c0: has pid 0"}},
		"a pid that could not be read": {hears("create start exit delete:-1"),
			[]string{"/tasks/delete of c0: has pid -1"}},
		"no time": {hears("create start exit delete!"),
			[]string{"/tasks/delete of c0: has no exit time"}},
		"exec after init": {hears("create start exit exec-exit delete"),
			[]string{"after the exit of the container's init", "exec e1: "}},
		"exec twice": {hears("create start exec-exit exec-exit exit delete"),
			[]string{"exec e1: arrived twice", "exec e1: ", "exec e1: "}},
		"missing in a gap":                 {also(hears("create start"), unsubscribed(20, 40)), nil},
		"missing while gap without an end": {also(hears("create start"), unsubscribed(20, 0)), nil},
		"a gap before it began": {also(hears("create start exit"), unsubscribed(-20, -10)),
			[]string{"/tasks/delete of c0: never"}},
		"twice in a gap": {also(hears("create start exit exit"), unsubscribed(20, 40)),
			[]string{"arrived twice"}},
		"disorder in a gap": {also(hears("create delete exit"), unsubscribed(20, 40)),
			[]string{"arrived after"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			test.change(&h)
			found, _ := excuses(nil).events(runOf(&h))
			for _, want := range test.want {
				says := func(f finding.Finding) bool { return strings.Contains(wording.Of(f), want) }
				if !slices.ContainsFunc(found, says) {
					t.Errorf("no finding says %q", want)
				}
			}
			if len(found) != len(test.want) || t.Failed() {
				t.Fatalf("%d findings, want %d: %v", len(found), len(test.want), found)
			}
		})
	}
}
