package crashcreate

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// quick are the cases of the short form.
var quick = map[string]bool{
	"crashcreate-task-create1-entry-held": true, "crashcreate-task-create1-exit-held": true,
	"crashcreate-task-start1-entry-held":     true,
	"crashcreate-task-start1-exit-then-shim": true, "crashcreate-sandbox-create1-exit-held": true,
	"crashcreate-container-start2-exit-held": true,
}

// Up to 1.6, containerd takes a shim that holds no task for one that does.
const adopted = "containerd#6860"

var leaksShim = []harness.Bad{{Releases: "< 1.7.0", By: spec.ShimLeft, Issue: adopted}}

// The shim is the pod's and goes with it. Then it is cleaned up after the container too,
// whose task never was: in vain, as in residue, but with an exit and a delete that have
// no pid.
var leaksBundle = []harness.Bad{
	{
		Releases: "< 1.7.0",
		By:       finding.MustMatches("bundle shim=none", "event event=no-pid"),
		Issue:    adopted + " and containerd#11071",
	},
}

// A CRI that starts with the record of a sandbox, and a shim that holds no task for it,
// keeps the shim. When the sandbox is removed, containerd runs the shim's delete helper,
// finds no pid, and publishes the exit and the delete of a task that never was: with pid
// 0, or -1 up to 2.3.
const unborn = "no issue known: exit and delete of a sandbox's task that was never created"

var unbornExit = []harness.Bad{
	leaksShim[0],
	{Releases: ">= 2.0.0", By: finding.MustMatches("event event=no-pid"), Issue: unborn},
}

// The helper that removes a dead shim's bundle gives up when Create has not yet written
// the bundle's runtime file. 1.7.35 still does, 2.0.14 does not any more.
var residue = []harness.Bad{
	{Releases: "< 2.0.0", By: finding.MustMatches("bundle shim=none"), Issue: "containerd#11071"},
}

// The id of a task is the client's own, and the bundle is in its way.
var residueOfID = []harness.Bad{
	{Releases: "< 2.0.0", By: finding.MustMatches("bundle shim=none"), Issue: "containerd#11071"},
}

// A containerd that starts publishes the exit of a task whose shim has died meanwhile
// before anybody can subscribe, and the task is gone then. CRI knows of such a container
// only that it was created: its start had not been answered.
var reportedToNone = []harness.Bad{
	{Releases: ">= 1.6.0", By: spec.ReportedToNobody, Issue: "no issue known: see shimkill-task-running-down"},
}

// known is what releases are known to violate, by the name of the case.
var known = map[string][]harness.Bad{
	"crashcreate-task-create1-entry-held":           leaksShim,
	"crashcreate-container-create2-entry-held":      leaksBundle,
	"crashcreate-sandbox-create1-entry-held":        unbornExit,
	"crashcreate-task-start1-exit-then-shim":        reportedToNone,
	"crashcreate-task-create1-entry-then-shim":      residueOfID,
	"crashcreate-sandbox-create1-entry-then-shim":   residue,
	"crashcreate-container-create2-entry-then-shim": residue,
	"crashcreate-task-state2-entry-then-shim":       reportedToNone,
	"crashcreate-task-state2-exit-then-shim":        reportedToNone,
	"crashcreate-container-start2-exit-then-shim":   reportedToNone,
	"crashcreate-container-state2-entry-then-shim":  reportedToNone,
	"crashcreate-container-state2-exit-then-shim":   reportedToNone,
}
