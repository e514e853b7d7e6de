package compare

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/wording"
)

func TestUnknownProcesses(t *testing.T) {
	c1 := inventory.Ref{Namespace: "default", ID: "c1"}
	payload := inventory.Process{PID: 54, State: "S", Cgroup: "/w1/default/c1", Argv: []string{"sleep", "1000"}}
	zombie, shim, own := payload, payload, payload
	zombie.State, shim.Shim, own.Own = "Z", &inventory.ShimArgs{ID: "c1", Namespace: "default"}, true
	elsewhere := payload
	elsewhere.Cgroup = "/w1"
	task := func(status string) *inventory.Daemon {
		return &inventory.Daemon{Containers: []inventory.Ref{c1}, Tasks: []inventory.Task{{Namespace: "default", ID: "c1",
			PID: 54, Status: status}}}
	}
	for _, test := range []struct {
		name   string
		p      inventory.Process
		daemon *inventory.Daemon
		want   string // "" if it is not forgotten
	}{
		{"running", payload, task("RUNNING"), ""},
		{"created", payload, task("CREATED"), ""},
		{"paused", payload, task("PAUSED"), ""},
		{"stopped", payload, task("STOPPED"), "its task as STOPPED"},
		{"unknown", payload, task("UNKNOWN"), "its task as UNKNOWN"},
		{"no task", payload, &inventory.Daemon{Containers: []inventory.Ref{c1}}, "has the container but no task"},
		{"nothing", payload, &inventory.Daemon{}, "neither a container nor a task"},
		{"a zombie", zombie, &inventory.Daemon{}, ""},
		{"a shim", shim, &inventory.Daemon{}, ""},
		{"the harness's", own, &inventory.Daemon{}, ""},
		{"of no container", elsewhere, &inventory.Daemon{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inv := inventory.Inventory{
				Processes: []inventory.Process{test.p}, Daemon: test.daemon,
				Cgroups: []inventory.Cgroup{{Rel: "default"}, {Rel: "default/c1"}},
			}
			found := must.Get(UnknownProcesses(inv))(t)
			if (len(found) == 1) != (test.want != "") || len(found) == 1 &&
				!strings.Contains(wording.Reason(found[0]), test.want) {
				t.Errorf("found %v, want %q", found, test.want)
			}
		})
	}
	must.Is(t, must.ErrorOf(UnknownProcesses(inventory.Inventory{})), inventory.ErrNoDaemon, "without containerd")
}
