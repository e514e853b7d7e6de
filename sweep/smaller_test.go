package sweep

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// scripted is a workload with more than its findings need.
func scripted() harness.Case {
	return harness.Case{Name: "scripted", Workload: harness.Workload{
		Grouped: true, Debug: true, TimeLimit: 20 * time.Second,
		Containers: []harness.Container{
			{Exit: 3, Lines: 50}, {Exit: 7, TTY: true, Execs: []harness.ExecSpec{{Exit: 2}, {Stays: true}}}, {Stays: true}},
		Script: []string{"create all", "start all but c0", "start c0 &", "wait c1/e0 &", "join", "wait c2 &",
			"repeat 6 pause c1; resume c1; pause c2; resume c2", "exec c1/e0 c1/e1", "wait c1/e0", "join", "end all but c2",
			"wait c0 c1"},
	}}
}

// A script loses its steps, containers, execs, rounds and properties, but for what the
// finding needs. It keeps its times.
func TestSimplifyOfAScript(t *testing.T) {
	has := func(c harness.Case, step string) bool {
		steps, _ := c.Workload.Steps()
		return slices.Contains(steps.Lines(), step)
	}
	for name, tt := range map[string]struct {
		shows func(harness.Case) bool
		want  harness.Workload
	}{
		"a kind of step": {
			func(c harness.Case) bool { return c.Workload.Scripted() && slices.Contains(c.Workload.Script, "join") },
			harness.Workload{Containers: []harness.Container{{Exit: 7}}, Script: []string{"join"}},
		},
		"the second exec of the second container": {
			func(c harness.Case) bool {
				steps, _ := c.Workload.Steps()
				return c.Workload.Scripted() && slices.ContainsFunc(steps.Lines(), func(s string) bool {
					return strings.HasPrefix(s, "exec") && slices.ContainsFunc(c.Workload.Containers,
						func(k harness.Container) bool { return slices.Contains(k.Execs, harness.ExecSpec{Stays: true}) })
				})
			},
			harness.Workload{Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Stays: true}}}},
				Script: []string{"exec c0/e0"}},
		},
		"a step of a repeat": {
			func(c harness.Case) bool { return len(c.Workload.Containers) > 2 && has(c, "resume c2") },
			harness.Workload{Containers: []harness.Container{{Exit: 3}, {Exit: 7}, {}}, Script: []string{"resume c2"}},
		},
		"properties": {
			func(c harness.Case) bool {
				return c.Workload.Grouped && slices.ContainsFunc(c.Workload.Containers,
					func(k harness.Container) bool { return k.TTY })
			},
			harness.Workload{Grouped: true, Containers: []harness.Container{{Exit: 7, TTY: true}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := scripted()
			must.Succeed(t, c.Check())
			got := must.Get(simplify(c, func(c harness.Case) (bool, error) { return tt.shows(c), nil }))(t)
			want := harness.Case{Name: got.Name, Workload: tt.want}
			want.Workload.TimeLimit = c.Workload.TimeLimit
			must.Equal(t, got.String(), want.String(), got, want)
			if again := scripted(); c.String() != again.String() {
				t.Errorf("the case itself has changed:\n%s", c)
			}
		})
	}
}

// The join of a concurrent step goes with it, if the join waits for no other step.
// No smaller script is run in which a step waits for the end of a process without an end.
// It is run if a fault may end the process.
func TestSimplifyRunsNoEndlessScript(t *testing.T) {
	for point, want := range map[string]bool{"proc:containerd:running": false, "proc:shim:running": true} {
		c := harness.Case{Name: "killed", Plan: failpoints.Plan{failpoints.Once(point, term.Kill)},
			Workload: harness.Workload{Containers: []harness.Container{{Stays: true}},
				Script: []string{"create c0", "start c0", "mark running", "kill c0 SIGKILL", "wait c0"}}}
		ran := false
		_, err := simplify(c, func(c harness.Case) (bool, error) {
			ran = ran || slices.Equal(c.Workload.Script, []string{"create c0", "start c0", "mark running", "wait c0"})
			return false, nil
		})
		if err != nil || ran != want {
			t.Errorf("%s: a wait without a kill was run: %v, want %v (%v)", point, ran, want, err)
		}
	}
}

func TestWithoutLine(t *testing.T) {
	for text, want := range map[string]string{
		"a & b join c":          "b c",
		"a & b & join c":        "b & join c",
		"a & b c":               "b c",
		"a b & join":            "b & join",
		"a & b & join c & join": "b & join c & join",
	} {
		var lines []string
		for _, w := range strings.Fields(text) {
			if w == "&" {
				lines[len(lines)-1] += " &"
			} else {
				lines = append(lines, w)
			}
		}
		must.Equal(t, strings.Join(withoutLine(lines, 0), " "), want, text)
	}
}
