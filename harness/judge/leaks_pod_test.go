package judge

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// leftInPod adds an object to the inventory after the round.
func leftInPod(change func(*inventory.Inventory)) func(*harness.History) {
	return func(h *harness.History) { change(h.CRI.Rounds[0].Inspection.Inventory) }
}

// laterRound adds a round that leaves nothing before the other rounds.
func laterRound(h *harness.History) {
	left := *h.CRI.Rounds[0].Inspection.Inventory
	left.Taken, h.CRI.Pod.Taken = at(29), at(24)
	h.CRI.Rounds = slices.Insert(h.CRI.Rounds, 0, harness.Round{
		Inspection: harness.Inspection{At: at(29), Inventory: &left}, Listed: h.CRI.Rounds[0].Listed})
}

// connects gives containerd a connection since the last round.
func connects(h *harness.History) {
	was := []inventory.Handles{{PID: 11, Start: 1}}
	h.CRI.Pod.Handles = was
	if h.CRI.Pod.Taken.IsZero() {
		h.CRI.Pod.Taken = at(30)
	}
	for i := range h.CRI.Rounds {
		h.CRI.Rounds[i].Inspection.Inventory.Handles = was
	}
	h.CRI.Rounds[len(h.CRI.Rounds)-1].Inspection.Inventory.Handles = []inventory.Handles{{PID: 11, Start: 1,
		Held: []inventory.Held{
			{Kind: fact.AConnection, Of: "outgoing", Count: 1}}}}
}

// opens gives a shim a descriptor since the last round.
func opens(h *harness.History) {
	connects(h)
	of := &inventory.ShimArgs{ID: "pod"}
	h.CRI.Pod.Handles[0].Shim = of
	last := &h.CRI.Rounds[len(h.CRI.Rounds)-1].Inspection.Inventory.Handles[0]
	last.Shim, last.Held = of, []inventory.Held{{Kind: fact.ADescriptor, Of: "/run/x", Count: 1}}
}

// holdsOpen gives containerd a descriptor of a file since the last round.
func holdsOpen(name string) func(*harness.History) {
	return func(h *harness.History) {
		h.CRI.Rounds[len(h.CRI.Rounds)-1].Inspection.Inventory.Handles[0].Held = []inventory.Held{
			{Kind: fact.ADescriptor, Of: name, Count: 1}}
	}
}

// rotates adds a rotation of a bystander's log.
func rotates(h *harness.History) {
	h.Bystanders = append(h.Bystanders, harness.Bystander{
		Instance: harness.Instance{ID: "bystander", Rotations: []harness.Rotation{{At: at(29)}}}})
}

func TestRulesOfRounds(t *testing.T) {
	aDir := inventory.Dir{Path: "/run/containerd/io.containerd.grpc.v1.cri/containers/c0", ID: "c0"}
	judgedPod(t, map[string]row{
		"a container that stays listed in a pod": {
			func(h *harness.History) { h.CRI.Rounds[0].Listed.Containers = []string{"c0"} },
			"leak container listed=by-cri-alone in=running-pod"},
		"a container that is not listed any more, and there": {leftInPod(func(i *inventory.Inventory) {
			i.Daemon.Containers = append(i.Daemon.Containers, inventory.Ref{Namespace: daemon.CRINamespace, ID: "c0"})
		}), "leak container listed=not-by-cri in=running-pod"},
		"a sandbox that is not listed, and there": {func(h *harness.History) { h.CRI.Rounds[0].Listed.Sandboxes = nil },
			"leak container listed=not-by-cri in=running-pod"},

		"a directory that a round has left": {leftInPod(func(i *inventory.Inventory) { i.CRIDirs = []inventory.Dir{aDir} }),
			"leak cri-dir in=running-pod"},
		"a mount that a round has left": {leftInPod(func(i *inventory.Inventory) {
			i.Mounts = []inventory.Mount{{Point: "/run/x", Type: "overlay"}}
		}), "leak mount in=running-pod"},
		"a snapshot that a round has left": {leftInPod(func(i *inventory.Inventory) {
			i.Daemon.Snapshots = []inventory.Snapshot{{Namespace: daemon.CRINamespace, Snapshotter: "overlayfs", Key: "c0"}}
		}), "leak snapshot in=running-pod"},
		"a task that a round has left": {leftInPod(func(i *inventory.Inventory) {
			i.Daemon.Tasks = append(i.Daemon.Tasks, inventory.Task{Namespace: daemon.CRINamespace, ID: "c0"})
		}), "leak task in=running-pod"},
		"the sandbox's, without a fault": {leftInPod(func(i *inventory.Inventory) {
			i.Daemon.Tasks = append(i.Daemon.Tasks, inventory.Task{Namespace: daemon.CRINamespace, ID: "pod"})
		}), "leak task in=running-pod"},
		"that, of another namespace": {also(planned, leftInPod(func(i *inventory.Inventory) {
			i.Daemon.Tasks = append(i.Daemon.Tasks, inventory.Task{Namespace: daemon.TaskNamespace, ID: "pod"})
		})), "leak task in=running-pod"},
		"the sandbox's, which the first list was without": {also(planned, leftInPod(func(i *inventory.Inventory) {
			i.Daemon.Tasks = append(i.Daemon.Tasks, inventory.Task{Namespace: daemon.CRINamespace, ID: "pod"})
		})), ""},
		"a log that is rotated between two rounds": {also(connects, holdsOpen("/truth/bystander-pod.out"), rotates), ""},
		"the log of another": {also(connects, holdsOpen("/truth/c0.out"), rotates),
			"leak handle kind=descriptor in=running-pod"},
		"a log that is not rotated": {also(connects, holdsOpen("/truth/bystander-pod.out")),
			"leak handle kind=descriptor in=running-pod"},
		"a connection that a round has left":             {connects, "leak handle kind=connection in=running-pod"},
		"one of a containerd that was started meanwhile": {also(connects, downFor(31, 32)), ""},
		"one a round after the start":                    {also(laterRound, connects, downFor(25, 26)), ""},
		"one in the first round after a start before it": {also(connects, func(h *harness.History) {
			h.Began = at(-10)
		}, downFor(-5, -4)), ""},
		"a descriptor in the first round after a start before it": {also(connects, func(h *harness.History) {
			h.Began = at(-10)
			h.CRI.Rounds[0].Inspection.Inventory.Handles[0].Held[0].Kind = fact.ADescriptor
		}, downFor(-5, -4)), "leak handle kind=descriptor in=running-pod"},
		"one in the second round after it": {also(laterRound, connects, func(h *harness.History) {
			h.Began = at(-10)
		}, downFor(-5, -4)), "leak handle kind=connection in=running-pod"},
		"one two rounds after it": {also(laterRound, laterRound, connects, downFor(25, 26)),
			"leak handle kind=connection in=running-pod"},
		"what is left in the end is reported once": {also(
			leftInPod(func(i *inventory.Inventory) { i.CRIDirs = []inventory.Dir{aDir} }),
			func(h *harness.History) { h.After.Inventory.CRIDirs = []inventory.Dir{aDir} }), "leak cri-dir task=none"},
		"a round that nobody could look at": {func(h *harness.History) {
			h.CRI.Rounds[0].Inspection = harness.Inspection{Asked: failed("Unknown", "ttrpc")}
		}, "liveness containerd what=listing"},
		"a descriptor of a shim, whatever was started": {also(opens, downFor(31, 32)),
			"leak handle program=shim kind=descriptor in=running-pod"},
	})
}

// If a fault ended a container, only the container's status file may grow.
func TestTheStatusOfWhatHasEndedGrows(t *testing.T) {
	file := func(path string, change func(*finding.Finding)) finding.Finding {
		f := finding.Finding{Class: finding.ClassFile, Subject: finding.Subject{Path: "/r/containers/" + path},
			Facts: fact.Facts{fact.Size: fact.Grown}}
		change(&f)
		return f
	}
	nothing := func(*finding.Finding) {}
	h := &harness.History{CRI: &harness.CRISeen{Pod: &inventory.Inventory{Taken: at(10)}}, Instances: []harness.Instance{
		{ID: "c0", Begun: at(11)}, {ID: "c1", Begun: at(9)}, {Begun: at(9)}}}
	for name, tt := range map[string]struct {
		f    finding.Finding
		want bool
	}{
		"of one that stays":    {file("c1/status", nothing), true},
		"of one that does not": {file("c0/status", nothing), false},
		"another file":         {file("c1/io", nothing), false},
		"a file that is new":   {file("c1/status", func(f *finding.Finding) { f.Facts[fact.Size] = "" }), false},
	} {
		if got := ofEndedStatus(runOf(h), tt.f); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
