package runner

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// A reference that held shortly before a timeout does not prove that the machine is fast
// enough.
func TestAReferenceThatHeldByLuckShowsNothing(t *testing.T) {
	many := slices.Repeat([]harness.Call{{Who: "client", Verb: "create", Took: 2 * time.Second}}, 8)
	for name, tt := range map[string]struct {
		calls []harness.Call
		want  harness.Outcome
	}{
		"an exec whose child holds its output": {
			[]harness.Call{{Who: "client", Verb: "delete", Of: "c0/e0", Took: 11 * time.Second}}, harness.Held},
		"quick": {[]harness.Call{{Verb: "create", Took: 100 * time.Millisecond}}, harness.Held},
		"an exec through the rest": {
			[]harness.Call{{Who: "client", Verb: "ExecSync", Took: 11 * time.Second}}, harness.Held},
		"a call that took as long": {
			[]harness.Call{{Who: "client", Verb: "create", Took: 11 * time.Second}}, harness.Invalid},
		"a long wait":          {[]harness.Call{{Who: "client", Verb: "wait", Took: time.Minute}}, harness.Held},
		"a slow call":          {[]harness.Call{{Verb: "create", Took: 8 * time.Second}}, harness.Invalid},
		"some calls":           {many[:4], harness.Held},
		"all of them together": {many, harness.Invalid},
		"calls of a bystander": {
			slices.Repeat([]harness.Call{{Who: "pod", Verb: "create", Took: 2 * time.Second}}, 8), harness.Held},
	} {
		w := harness.Workload{CallTimeout: 10 * time.Second, TimeLimit: time.Minute, Script: []string{"soak 11s"},
			Containers: []harness.Container{{Execs: []harness.ExecSpec{{Exit: 9, LeavesChild: true}}}}}
		got := inTime(&harness.Reference{Outcome: harness.Held}, tt.calls, w)
		if got.Outcome != tt.want || (got.Why != "") != (tt.want != harness.Held) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
