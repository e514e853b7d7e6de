package judge

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// synced: an ExecSync fails only where something has broken it, or its time is over, and
// not before; then the exec does not live on; and nothing is left of it while its
// container lives on.
func (x *execOf) synced() {
	s := x.e.Sync
	if s == nil || s.Answered.IsZero() {
		return
	}
	broken := x.syncBroken()
	switch {
	case broken, !s.Broke.IsZero(): // it is not answered
	case s.Err == nil && x.e.Timed():
		x.find(finding.Liveness, finding.ClassDaemon, fact.Facts{fact.What: fact.ExecUntimed,
			fact.Bound: s.Timeout.String(), fact.Reported: fmt.Sprint(s.Status)})
	case s.Err == nil, x.e.Absent: // refusals judges that
	case x.e.Timed() && s.Err.Code == codes.DeadlineExceeded.String():
		if had := s.Answered.Sub(x.e.Begun); had < s.Timeout-clockGrace {
			x.find(finding.Liveness, finding.ClassDaemon, fact.Facts{fact.What: fact.ExecEarly,
				fact.Bound: s.Timeout.String(), fact.Apart: had.Round(time.Millisecond).String()})
		}
	case x.h.Fired(s.Answered) > 0: // that it fails before is the baseline's
		x.find(finding.Liveness, finding.ClassDaemon, s.Err.Facts(fact.ExecFailed))
	}
	if s.Beats > 0 && x.e.Timed() {
		x.find(finding.Liveness, finding.ClassDaemon, fact.Facts{fact.What: fact.ExecLives,
			fact.After: fact.TimeOver, fact.Count: fmt.Sprint(s.Beats)})
	}
	if s.Beats > 0 && x.e.Orphaned() && !broken {
		x.find(finding.Liveness, finding.ClassDaemon, fact.Facts{fact.What: fact.ExecLives,
			fact.After: fact.ClientGone, fact.Count: fmt.Sprint(s.Beats)})
	}
	for _, b := range s.Left {
		if broken {
			break
		}
		f := compare.OfFile(b.File, x.h.Before.Places)
		if b.Mount != "" {
			f = finding.Finding{Class: finding.ClassMount, Facts: fact.Facts{fact.MountType: b.Mount}}
			f.Subject.Path = b.Path
		}
		f.Invariant, f.Subject.ID, f.Subject.Exec = finding.Leak, x.i.ID, x.e.Called()
		f.Facts[fact.In], f.Facts[fact.Of] = fact.InRunningContainer, fact.AnExec
		x.found = append(x.found, f)
	}
}

// syncBroken reports whether a fault may have broken an ExecSync.
func (x *execOf) syncBroken() bool {
	by := x.e.Sync.Answered
	if !x.e.Sync.Broke.IsZero() { // the client that closed its connection learns nothing later
		by = latest(by, x.i.Waited)
	}
	return x.e.Sync.Err != nil && x.e.Sync.Err.Code == codes.Canceled.String() ||
		tolerated(x.h, execWorks, *x.i, span{x.e.Begun, by})
}
