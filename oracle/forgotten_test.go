package oracle

import (
	"errors"
	"strings"
	"testing"
)

func TestForgotten(t *testing.T) {
	c1 := Ref{"default", "c1"}
	payload := Process{PID: 54, State: "S", Cgroup: "/w1/default/c1", Argv: []string{"sleep", "1000"}}
	zombie, shim, own := payload, payload, payload
	zombie.State, shim.Shim, own.Own = "Z", &ShimArgs{ID: "c1", Namespace: "default"}, true
	elsewhere := payload
	elsewhere.Cgroup = "/w1"
	task := func(status string) *Daemon {
		return &Daemon{Containers: []Ref{c1}, Tasks: []Task{{Namespace: "default", ID: "c1", PID: 54, Status: status}}}
	}
	for _, test := range []struct {
		name   string
		p      Process
		daemon *Daemon
		want   string // "" when it is not forgotten
	}{
		{"running", payload, task("RUNNING"), ""},
		{"created", payload, task("CREATED"), ""},
		{"paused", payload, task("PAUSED"), ""},
		{"stopped", payload, task("STOPPED"), "its task is STOPPED"},
		{"unknown", payload, task("UNKNOWN"), "its task is UNKNOWN"},
		{"no task", payload, &Daemon{Containers: []Ref{c1}}, "knows the container but no task"},
		{"nothing", payload, &Daemon{}, "neither a container nor a task"},
		{"a zombie", zombie, &Daemon{}, ""},
		{"a shim", shim, &Daemon{}, ""},
		{"the harness's", own, &Daemon{}, ""},
		{"of no container", elsewhere, &Daemon{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inv := Inventory{
				Processes: []Process{test.p}, Daemon: test.daemon,
				Cgroups: []Cgroup{{Rel: "default"}, {Rel: "default/c1"}},
			}
			found, err := Forgotten(inv)
			if err != nil {
				t.Fatal(err)
			}
			if (len(found) == 1) != (test.want != "") || len(found) == 1 && !strings.Contains(found[0].Reason(), test.want) {
				t.Errorf("found %v, want %q", found, test.want)
			}
		})
	}
	if _, err := Forgotten(Inventory{}); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("without containerd: %v", err)
	}
}
