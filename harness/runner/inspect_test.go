package runner

import (
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/must"
)

func TestAContainerdThatStillCallsAShimIsWaitedFor(t *testing.T) {
	hit := func(point string, pid int) failpoints.Hit {
		return failpoints.Hit{Hit: probe.Hit{Point: point, ID: "c0"}, Who: "containerd", PID: pid}
	}
	const entry, exit = "rpc:containerd:Task.Shutdown:entry", "rpc:containerd:Task.Shutdown:exit"
	for _, tc := range []struct {
		name   string
		hits   []failpoints.Hit
		deaths []daemon.Death
		want   string
	}{
		{"nothing was called", nil, nil, ""},
		{"the call returned", []failpoints.Hit{hit(entry, 9), hit(exit, 9)}, nil, ""},
		{"the call did not return", []failpoints.Hit{hit(entry, 9)}, nil, "Task.Shutdown of c0"},
		{"the second call did not return", []failpoints.Hit{hit(entry, 9), hit(exit, 9), hit(entry, 9)}, nil,
			"Task.Shutdown of c0"},
		{"the caller is dead", []failpoints.Hit{hit(entry, 9)}, []daemon.Death{{PID: 9}}, ""},
		{"the next containerd calls", []failpoints.Hit{hit(entry, 9), hit(entry, 11)}, []daemon.Death{{PID: 9}},
			"Task.Shutdown of c0"},
		{"a Wait lasts as long as its task", []failpoints.Hit{hit("rpc:containerd:Task.Wait:entry", 9)}, nil, ""},
		{"the shim's side is not containerd's", []failpoints.Hit{hit("rpc:shim:Task.Delete:entry", 9)}, nil, ""},
		{"a statement is no call", []failpoints.Hit{hit("stmt:containerd:runtime.shimTask.delete:entry", 9)}, nil, ""},
	} {
		must.Equal(t, calling(tc.hits, tc.deaths), tc.want, tc.name)
	}
}

// The closed connection to a dead containerd says nothing about the containerd that was
// started after it.
func TestAContainerdThatWasStartedMeanwhileIsAsked(t *testing.T) {
	x := newBareWorld(t, &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir()}).x
	before := must.Get(x.sceneUp(t.Context()))(t)
	must.Succeed(t, x.daemon.Restart(t.Context()))
	if a := answer(t.Context(), before); a.Err == nil {
		t.Fatal("the connection to the dead containerd still works, so the test shows nothing")
	}
	if a := x.askAgain(t.Context(), before); a.Err != nil {
		t.Errorf("the restarted containerd did not respond: %v", a.Err)
	}
}
