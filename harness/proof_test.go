package harness

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/oracle"
)

func TestHeeded(t *testing.T) {
	hit := func(point, id, err string) failpoints.Hit {
		return failpoints.Hit{Hit: probe.Hit{Point: point, ID: id, Err: err}, Who: "shim", PID: 41, Did: term.Cancel}
	}
	const entry, exit = "rpc:shim:Task.Shutdown:entry", "rpc:shim:Task.Shutdown:exit"
	for _, c := range []struct {
		name  string
		at    failpoints.Hit
		later []failpoints.Hit
		want  bool
	}{
		{"the handler failed", hit(entry, "c0", ""), []failpoints.Hit{hit(exit, "c0", "context canceled")}, true},
		{"the handler went on", hit(entry, "c0", ""), []failpoints.Hit{hit(exit, "c0", "")}, false},
		{"another container's call failed", hit(entry, "c0", ""), []failpoints.Hit{hit(exit, "c1", "context canceled"), hit(exit, "c0", "")}, false},
		{"it never came back", hit(entry, "c0", ""), nil, true},
		{"at the exit the probe answers", hit(exit, "c0", ""), nil, true},
	} {
		if got := heeded(c.at, c.later); got != c.want {
			t.Errorf("%s: heeded is %v", c.name, got)
		}
	}
}

func TestLastOfShim(t *testing.T) {
	r := &Runner{}
	of := func(w Workload) *experiment {
		x := r.experiment(t.Context(), Case{Name: "x", Workload: w})
		x.client = newTaskClient(x)
		if w.API == CRI {
			x.client = newCRIClient(x)
		}
		for i, k := range x.client.all() {
			k.id, k.life.Deleted = k.name, time.Unix(int64(100-i), 0) // the first is deleted last
		}
		return x
	}
	two := []Container{{Exit: 1}, {Exit: 2}}
	for _, c := range []struct {
		name string
		w    Workload
		id   string
		want bool
	}{
		{"a shim of its own", Workload{Containers: two}, "c1", true},
		{"a shared one, deleted last", Workload{Containers: two, Grouped: true}, "c0", true},
		{"a shared one, deleted before", Workload{Containers: two, Grouped: true}, "c1", false},
		{"a pod's container", Workload{API: CRI, Containers: two}, "c0", false},
		{"a pod's sandbox", Workload{API: CRI, Containers: two}, "sandbox", true},
	} {
		if got := of(c.w).lastOfShim(c.id); got != c.want {
			t.Errorf("%s: last of its shim is %v", c.name, got)
		}
	}
	var missing oracle.Finding // what the residue asks for
	missing.Invariant, missing.Class = oracle.Event, oracle.ClassEvent
	missing.Facts = oracle.Facts{oracle.FactEvent: oracle.Missing, oracle.FactTopic: "/tasks/delete"}
	c := oracle.Circumstances{Release: "v2.4.2", Happened: []string{oracle.TaskDeleted}}
	if oracle.Mark([]oracle.Finding{missing}, c)[0].Known != "" {
		t.Error("a lost TaskDelete is known though it was not its shim's last event")
	}
	missing.Facts[oracle.FactLast] = oracle.Yes
	if oracle.Mark([]oracle.Finding{missing}, c)[0].Known == "" {
		t.Error("a lost last TaskDelete is not known")
	}
}
