package shimkill

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// CRI learns of an exit from its Wait alone. When the shim dies, that Wait ends with the
// connection, and CRI writes 255 at once, without a look at what containerd's own
// clean-up of the dead shim finds out: that publishes TaskExit with 137, for nobody.
const exitUnheard = "no issue known: CRI takes the end of its Wait's connection for an exit with 255, and ignores " +
	"the TaskExit that follows"

// A CRI that starts and finds no task of a container that ran writes 255 as well: it
// notes an exit only when the Delete that follows has succeeded. That loses a real 7 too,
// which CRI's own Wait had got; since 2.4 it is on record in the bundle as well,
// and the helper that removes the bundle reads it, for nobody.
const forgetful = "no issue known: CRI writes 255 for a container whose shim died while containerd was down"

// A containerd that starts cleans up after a shim that has died meanwhile, and publishes
// the exit before anybody can subscribe. The task is gone then, so that no client can
// learn how it ended.
const unheard = "no issue known: the exit of a shim that died while containerd was down is published before anybody " +
	"can hear it"

// Up to 2.3, containerd watches a connection to a shim for the task that has opened it,
// the pod's sandbox; those of its containers that come later have nobody who cleans up
// after them when the shim is gone, nor who publishes their exit and delete.
const unwatched = "containerd#13293; the 255 of CRI is its own"

var (
	saysUnknown    = []harness.Bad{{Releases: ">= 1.6.0", By: spec.CRISaysUnknown, Issue: exitUnheard}}
	lostWhile      = []harness.Bad{{Releases: ">= 1.6.0", By: spec.CRISaysUnknown, Issue: forgetful}}
	reportedToNone = []harness.Bad{{Releases: ">= 1.6.0", By: spec.ReportedToNobody, Issue: unheard}}
	survives       = []harness.Bad{
		{Releases: ">= 2.0.0, < 2.4.0", Issue: unwatched,
			By: append(finding.MustMatches("process", "cgroup", "runc-state", "event event=missing topic=/tasks/exit"),
				spec.CRISaysUnknown...),
			May: finding.MustMatches("event event=missing topic=/tasks/delete")},
		saysUnknown[0],
	}
)

// known is what releases are known to violate, by the name of the case.
var known = map[string][]harness.Bad{
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
