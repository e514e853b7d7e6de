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
	const killed = "the payload exited with 137 (killed: its own record ends before its exit)"
	for text, want := range map[string]string{
		"exit code of 5b0f by cri-status: cri-status reported 255; " + killed + "; 255 means that containerd does not " +
			"know the status; 137 means SIGKILL; containerd was down": "exit code of 5b0f: CRI's status has 255, the " +
			"container's process ended with 137; containerd was down",
		"exit code of c0, exec e0 by shim-delete: shim-delete reported 0; the payload exited with 3 (its own record); " +
			"0 means success": "exit code of c0, exec e0: the response to Delete has 0, the container's process ended with 3",
		"exit code of c0 by nobody: containerd is up, but no client could get it; " + killed: "exit code of c0: no " +
			"client can get it, the container's process ended with 137",
		"/tasks/start of c0: has the time 14:03:24.8Z, but its shim had tried to send it at 14:03:24.7Z": "/tasks/start " +
			"of c0: has the time 14:03:24.8Z, because the attempt to send the event before it had failed at 14:03:24.7Z",
		"shim: it ended by itself with 2, and no fault asked it to": "shim: exited by itself with 2",
		"process 74 (payload) of container c0":                      "process 74 (of the container) of container c0",
		"lease k8s.io/d0b4: not deleted":                            "lease k8s.io/d0b4: not deleted",
	} {
		if got := plainWords([]string{text}); got[0] != want {
			t.Errorf("%s\nwant %s", got[0], want)
		}
	}
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
	got := ran(f)
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
