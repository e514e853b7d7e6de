package crashcreate

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// quick are the cases that also run in `make suites SHORT=1`.
var quick = map[string]bool{
	"crashcreate-task-create1-entry-held": true, "crashcreate-task-create1-exit-held": true,
	"crashcreate-task-start1-entry-held":     true,
	"crashcreate-task-start1-exit-then-shim": true, "crashcreate-sandbox-create1-exit-held": true,
	"crashcreate-container-start2-exit-held": true,
}

// Up to 1.6, containerd mistakes a shim without a task for a shim with one.
const adopted = "containerd#6860"

var leaksShim = []harness.KnownViolations{{Releases: "< 1.7.0", By: spec.ShimLeft, Issue: adopted}}

// The shim belongs to the pod and exits with it. containerd then also cleans up for the
// container, whose task never existed. That cleanup fails as with residue, but
// publishes TaskExit and TaskDelete without a pid.
var leaksBundle = []harness.KnownViolations{
	{
		Releases: "< 1.7.0",
		By:       finding.MustMatches("bundle shim=none", "event event=no-pid"),
		Issue:    adopted + " and containerd#11071",
	},
}

// A starting CRI keeps a shim without a task if there is a record of its sandbox. When
// the sandbox is removed, containerd runs the shim's delete helper, which finds no pid.
// containerd then publishes TaskExit and TaskDelete of a task that never existed. Their
// pid is 0, or -1 up to 2.3.
const unborn = "no issue known: exit and delete of a sandbox's task that was never created"

var unbornExit = []harness.KnownViolations{
	leaksShim[0],
	{Releases: ">= 2.0.0", By: finding.MustMatches("event event=no-pid"), Issue: unborn},
}

// The helper that removes a dead shim's bundle gives up if Create has not written the
// bundle's runtime file yet. This is so in 1.7.35, and no longer in 2.0.14.
var residue = []harness.KnownViolations{
	{Releases: "< 2.0.0", By: finding.MustMatches("bundle shim=none"), Issue: "containerd#11071"},
}

// The client chooses the id of a task, and the old bundle blocks it.
var residueOfID = []harness.KnownViolations{
	{Releases: "< 2.0.0", By: finding.MustMatches("bundle shim=none"), Issue: "containerd#11071"},
}

// If a shim has exited while containerd was down, the starting containerd removes its
// task. It publishes the exit before any client can subscribe. CRI only knows that such
// a container was created, because its start got no response.
var reportedToNone = []harness.KnownViolations{
	{Releases: ">= 1.6.0", By: spec.ReportedToNobody, Issue: "no issue known: see shimkill-task-running-down"},
}

// known are the known violations of releases, by the name of the case.
var known = map[string][]harness.KnownViolations{
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
