package shimkill

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// CRI gets an exit from its Wait only. When the shim ends, that Wait ends with the
// connection, and CRI writes 255 at once. It ignores the result of containerd's own
// cleanup of the dead shim, which publishes TaskExit with 137.
const exitUnheard = "no issue known: CRI takes the end of its Wait's connection for an exit with 255, and ignores " +
	"the TaskExit that follows"

// A starting CRI that finds no task for a container that ran writes 255 as well. It
// records an exit only after the following Delete has succeeded. That loses a real 7,
// too, which CRI's own Wait had got. Since 2.4 the bundle also has that status, and the
// helper that removes the bundle reads it, without effect.
const forgetful = "no issue known: CRI writes 255 for a container whose shim died while containerd was down"

// A starting containerd cleans up after a shim that has ended meanwhile, and publishes
// the exit before any client can subscribe. The task has gone then, so that no client can
// get its exit.
const unheard = "no issue known: the exit of a shim that died while containerd was down is published before anybody " +
	"can hear it"

// Up to 2.3, containerd watches a connection to a shim for the task that has opened it:
// the pod's sandbox. When the shim has ended, the later containers are not cleaned up,
// and their exit and delete are not published.
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
