package play

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/must"
)

// played are the calls of a script whose calls fail that are named.
func played(t *testing.T, text string, failing ...string) (calls, notes []string) {
	t.Helper()
	by := script.Task
	if strings.HasPrefix(text, "run pod") {
		by = script.CRI
	}
	steps := must.Get(script.Parse(by, strings.Split(text, "\n"), []int{1, 0}))(t)
	var mu sync.Mutex
	verbs := map[string]Verb{}
	for _, v := range script.Verbs {
		verbs[v.Name] = func(_ context.Context, of script.Object, arg string) error {
			mu.Lock()
			defer mu.Unlock()
			name := strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Name, of, arg))
			calls = append(calls, name)
			if slices.Contains(failing, name) {
				return errors.New("it fails")
			}
			return nil
		}
	}
	var r record.Recorder
	session := client.NewSession(client.Params{Record: &r, State: func(_ context.Context, state string) {
		calls = append(calls, "mark "+state)
	}, Fired: func() bool { return false }})
	session.CallTimeout = time.Minute
	p := Player{Session: session, Script: steps, Verbs: verbs}
	p.Play(t.Context())
	for _, n := range r.History().Notes {
		notes = append(notes, n.Text)
	}
	return calls, notes
}

func TestPlay(t *testing.T) {
	for name, tt := range map[string]struct {
		text, failing, want string
	}{
		"in order": {"create all\nmark created\nstart c0\nkill c0 SIGKILL\ndelete all", "",
			"create c0, create c1, mark created, start c0, kill c0 SIGKILL, delete c1, delete c0"},
		"what was not created": {"create all\nstart all\nwait all\ndelete all", "create c0",
			"create c0, create c1, start c1, wait c1, delete c1"},
		"what was not started": {"create c0\nstart c0\nend c0\nwait c0\ndelete c0", "start c0",
			"create c0, start c0"},
		"an exec that was not started": {"add c0/e0\nstart c0/e0\nwait c0/e0\ndelete c0/e0", "start c0/e0",
			"add c0/e0, start c0/e0, delete c0/e0"},
		"a second start is refused": {"add c0/e0\nstart c0/e0\nwait c0/e0", "",
			"add c0/e0, start c0/e0, wait c0/e0"},
		"what was created in the end": {"create c0\ncreate c0\nwait c0", "", "create c0, create c0, wait c0"},
		"a moment that comes again":   {"mark running\nstart c0\nmark running", "", "mark running, start c0"},
		"what is in no pod":           {"run pod\ncreate c0\nmark created\nwait c0", "run pod", "run pod, mark created"},
		"an exec in what does not run": {"run pod\ncreate c0\nstart c0\nexecsync c0/e0\nremove c0", "start c0",
			"run pod, create c0, start c0, remove c0"},
		"what was not removed": {"run pod\ncreate c0\nremove c0\ncreate c0\nwait c0", "remove c0",
			"run pod, create c0, remove c0"},
		"what was removed, and not created again": {
			"run pod\ncreate c0\nremove c0\ncreate c0\nremove c0\ncreate c1", "",
			"run pod, create c0, remove c0, create c0, remove c0, create c1"},
		"what ends before a join": {"wait c0 &\njoin\nmark exited", "", "wait c0, mark exited"},
	} {
		t.Run(name, func(t *testing.T) {
			calls, _ := played(t, tt.text, tt.failing)
			must.Equal(t, strings.Join(calls, ", "), tt.want)
		})
	}
}

func TestASkippedStepIsNoted(t *testing.T) {
	_, notes := played(t, "create c1\npause c1", "create c1")
	must.Len(t, notes, 1, "the notes are")
	must.Equal(t, notes[0], "step 2, pause c1: skipped, because its create has failed", "the notes are")
}

// A start that is refused after one that has succeeded ends nothing.
func TestARefusedStartOfWhatRuns(t *testing.T) {
	steps := must.Get(script.Parse(script.Task, []string{"start c0", "start c0", "wait c0"}, []int{0}))(t)
	starts, waits := 0, 0
	p := Player{Session: client.NewSession(client.Params{Record: &record.Recorder{}}), Script: steps,
		Verbs: map[string]Verb{
			"start": func(context.Context, script.Object, string) error {
				if starts++; starts > 1 {
					return errors.New("cannot start a running process")
				}
				return nil
			},
			"wait": func(context.Context, script.Object, string) error { waits++; return nil },
		}}
	p.Play(t.Context())
	if starts != 2 || waits != 1 {
		t.Errorf("%d starts and %d waits", starts, waits)
	}
}

// A concurrent step of a verb that says itself when it is under way holds the next step
// until then, and no longer.
func TestSent(t *testing.T) {
	lines := []string{"execsync c0/e0 &", "execsync c0/e0 &", "wait c0", "join"}
	steps := must.Get(script.Parse(script.CRI, lines, []int{1}))(t)
	var order []string
	waited := make(chan struct{})
	p := Player{Session: client.NewSession(client.Params{Record: &record.Recorder{}}), Script: steps,
		Late: map[string]bool{"execsync": true}, Verbs: map[string]Verb{
			"execsync": func(ctx context.Context, _ script.Object, _ string) error {
				order = append(order, "begun")
				if len(order) == 1 {
					return nil // it ends before it reports its start
				}
				Sent(ctx)
				<-waited
				return nil
			},
			"wait": func(context.Context, script.Object, string) error {
				order = append(order, "wait")
				close(waited)
				return nil
			},
		}}
	p.Play(t.Context())
	must.Equal(t, strings.Join(order, " "), "begun begun wait", "the order is")
}
