package filing

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/shims/runcshim"
)

func TestPlainWords(t *testing.T) {
	must.Table(t, "testdata/words.txt", func(text string) string { return plainWords([]string{text})[0] })
}

func TestPrograms(t *testing.T) {
	for patch, want := range map[string][]string{
		"+++ b/cmd/containerd-shim-runc-v2/task/service.go\n": {runcshim.Binary},
		"+++ b/pkg/shim/shim.go\n":                            {runcshim.Binary},
		"+++ b/core/runtime/v2/shim.go\n":                     {"containerd"},
		"+++ b/cmd/containerd-shim-runc-v2/process/exec.go\n+++ b/core/runtime/v2/bundle.go\n": {
			"containerd", runcshim.Binary},
	} {
		must.Equal(t, programs(patch), want, patch)
	}
}

func TestCommentsAreOnTheThreadOfTheirBug(t *testing.T) {
	for _, tt := range []struct {
		f    Filing
		want string
	}{
		{Filing{Bug: catalogue.Bug{ID: "shim-left"}}, ""},
		{Filing{Bug: catalogue.Bug{ID: "shim-left"}, CommentOn: "containerd#7"}, "containerd#7"},
		{Filing{Bug: catalogue.Bug{ID: "containerd-13377"}}, "containerd#13377"},
	} {
		if thread, ok := tt.f.Thread(); thread.Name != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.f.Bug.ID, thread.Name, ok, tt.want)
		}
	}
}

func TestRanDescribesTheRun(t *testing.T) {
	at := must.Get(failpoints.ParsePoint("proc:containerd:running"))(t)
	do := must.Get(term.Parse("1*kill"))(t)
	f := Filing{Run: harness.Case{
		Workload: harness.Workload{Containers: []harness.Container{{Exit: 7, SharedPID: true}, {Signal: "SIGTERM"}}},
		Plan:     failpoints.Plan{{At: at, Do: do}},
	}}
	got := must.Get(Text(f, Recorded{}))(t)
	for _, want := range []string{
		"a test with the same cause", "as dockerd does, with a time limit of 10 s", "`create c0 c1`", "`delete c1 c0`",
		"c0 exits with 7 (`sharedPID: true`).", "c1 ends by SIGTERM.",
		"when the containers are running, to containerd, which is started again: `1*kill`",
	} {
		must.Contain(t, got, want)
	}
	if strings.Contains(got, "`at ") {
		t.Errorf("a step that is no call: %s", got)
	}
}
