package shimkill

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// CRI learns of an exit only from its Wait. When the shim dies, the connection closes
// and Wait fails, and CRI reports 255 at once. It ignores the TaskExit with 137, which
// containerd's cleanup of the dead shim publishes.
const exitUnheard = "no issue known: CRI treats the closed connection of its Wait as an exit with 255, and ignores " +
	"the TaskExit that follows"

// A starting CRI that finds no task for a running container also reports 255. CRI
// records an exit only after the following Delete has succeeded. So it also loses a
// real 7 that its Wait had returned. Since 2.4 the bundle has that status, too. The
// `shim delete` helper reads it, but CRI does not use it.
const forgetful = "no issue known: CRI writes 255 for a container whose shim died while containerd was down"

// A starting containerd cleans up after a shim that died while containerd was down. It
// publishes the exit before any client can subscribe, and removes the task. So no
// client can get the exit.
const unheard = "no issue known: the exit of a shim that died while containerd was down is published before anybody " +
	"can hear it"

// Up to 2.3, containerd watches the connection to a pod's shim only for the task that
// opened it: the sandbox. If the shim dies, containerd does not clean up the pod's
// containers, and does not publish their TaskExit and TaskDelete.
const unwatched = "containerd#13293; the 255 of CRI is its own"

var (
	saysUnknown    = []harness.KnownViolations{{Releases: ">= 1.6.0", By: spec.CRISaysUnknown, Issue: exitUnheard}}
	lostWhile      = []harness.KnownViolations{{Releases: ">= 1.6.0", By: spec.CRISaysUnknown, Issue: forgetful}}
	reportedToNone = []harness.KnownViolations{{Releases: ">= 1.6.0", By: spec.ReportedToNobody, Issue: unheard}}
	survives       = []harness.KnownViolations{
		{Releases: ">= 2.0.0, < 2.4.0", Issue: unwatched,
			By: append(finding.MustMatches("process", "cgroup", "runc-state", "event event=missing topic=/tasks/exit"),
				spec.CRISaysUnknown...),
			May: finding.MustMatches("event event=missing topic=/tasks/delete")},
		saysUnknown[0],
	}
)

// known are the known violations of releases, by the name of the case.
var known = map[string][]harness.KnownViolations{
	"shimkill-task-running-down":      reportedToNone,
	"shimkill-group-running-down":     reportedToNone,
	"shimkill-pod-seven":              lostWhile,
	"shimkill-pod2-running":           survives,
	"shimkill-pod2-running-down":      lostWhile,
	"shimkill-pod2-delete-entry-up":   survives,
	"shimkill-pod2-delete-exit-up":    survives,
	"shimkill-pod2-delete-entry-down": lostWhile,
	"shimkill-pod2-delete-exit-down":  lostWhile,
}
