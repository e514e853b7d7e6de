package runner

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
)

// After a fault the client comes back to a paused task, and not to a running task. The
// refusal of a resume says nothing about the task.
func TestAResumeIsRepeatedOnlyOfAPausedTask(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  failpoints.Fault
		script []string
		want   []harness.Response
	}{
		"runs": {failpoints.Once("proc:containerd:running", term.Kill), []string{"mark running", "resume c0"},
			[]harness.Response{harness.Refused}},
		"paused": {failpoints.Once("rpc:shim:Task.Resume:entry", "error(x)"), []string{"pause c0", "resume c0"},
			[]harness.Response{harness.Refused, harness.Done}},
	} {
		script := append([]string{"create all", "start all"}, append(tt.script, "end all", "wait all", "delete all")...)
		v := runCase(t, harness.Case{Name: name, Plan: failpoints.Plan{tt.fault},
			Workload: harness.Workload{Script: script}})
		var got []harness.Response
		for _, c := range v.History.Calls {
			if c.Verb == "resume" && c.Response != harness.Lost {
				got = append(got, c.Response)
			}
		}
		if v.Outcome == harness.Invalid || !slices.Equal(got, tt.want) {
			t.Errorf("%s: the responses are %d, %.3q; want %q\n%s", name, len(got), got, tt.want, v)
		}
	}
}
