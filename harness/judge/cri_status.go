package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// clockTolerance is how far a time that CRI says may be off. All times are of one
// machine's clock, which may be adjusted by a little while a case runs; and CRI's clients
// keep times in whole seconds (metav1.Time).
const clockTolerance = time.Second

// learnBound is how long CRI may go on saying of a container that it runs, or that it is
// UNKNOWN, when it has ended: it gives each try to handle an exit 10 s
// (handleEventTimeout) and tries again a second later (internal/cri/server/events). After
// a restart of containerd it has that time again.
const learnBound = 25 * time.Second

// criStatuses: CRI reports the true state, times and reason of a container. The exit
// status belongs to the ledger.
func criStatuses(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	for _, i := range h.Instances {
		of := slices.DeleteFunc(slices.Clone(h.CRI.Statuses), func(s criview.Status) bool { return s.ID != i.ID })
		for _, s := range of {
			found = append(found, statusTimes(h, i, s)...)
			found = append(found, reason(i, s)...)
		}
		if n := len(of); n > 0 {
			found = append(found, lastState(h, i, of[n-1])...)
		}
	}
	return uniqueCauses(found), nil
}

// about is a finding about one field of what CRI says of an id.
func about(object, id, field, is, reported, true_ string) finding.Finding {
	return finding.Finding{
		Invariant: finding.Status, Class: finding.ClassCRIStatus, Subject: finding.Subject{ID: id},
		Facts: fact.Facts{fact.Object: object, fact.Field: field, fact.Is: is,
			fact.Reported: reported, fact.True: true_},
	}
}

// window is when something can have been; the zero time: it has no such bound.
type window struct {
	field        string
	reported     time.Time
	from, to     time.Time
	mustBe       bool // CRI has a time for it by now
	after, until string
}

// statusTimes judges the times of an answer.
func statusTimes(h *harness.History, i harness.Instance, s criview.Status) (found []finding.Finding) {
	exited := s.State == criview.Exited
	started := window{field: fact.FieldStarted, reported: s.Started, from: i.Begun, to: s.Seen,
		after: "it was asked for", until: "CRI has said so",
		mustBe: s.State == criview.Running || exited && !i.Started.IsZero()}
	if !i.Started.IsZero() && len(h.Deaths) == 0 { // a containerd that is started may take its own start for it
		started.to, started.until = i.Started, "StartContainer has succeeded"
	}
	finished := window{field: fact.FieldFinished, reported: s.Finished, to: s.Seen, mustBe: exited,
		until: "CRI has said so"}
	finished.from, finished.after = livedUntil(h, i)
	if by := endedBy(h, i); reportedTrue(h, i, "", uint32(s.ExitCode)) && !by.IsZero() && by.Before(s.Seen) {
		finished.to, finished.until = by, "a shim has reaped it at the latest"
	}
	all := []window{
		{field: fact.FieldCreated, reported: s.Created, from: i.Begun, to: s.Seen, mustBe: true,
			after: "it was asked for", until: "CRI has said so"},
		started, finished,
	}
	for _, w := range all {
		if is, bound := w.judge(); is != "" {
			found = append(found, about(fact.AContainer, i.ID, w.field, is, stamp(w.reported), bound))
		}
	}
	return found
}

// judge says what is wrong with a time, and with what it was compared.
func (w window) judge() (is, bound string) {
	switch {
	case w.reported.IsZero() && w.mustBe:
		return fact.NotSet, "it has happened"
	case w.reported.IsZero():
	case !w.from.IsZero() && w.reported.Before(w.from.Add(-clockTolerance)):
		return fact.TooEarly, fmt.Sprintf("%s, when %s", stamp(w.from), w.after)
	case !w.to.IsZero() && w.reported.After(w.to.Add(clockTolerance)):
		return fact.TooLate, fmt.Sprintf("%s, when %s", stamp(w.to), w.until)
	}
	return "", ""
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// startError is CRI's reason for the end of a container whose start has failed.
const startError = "StartError"

// reasons are those that CRI may give for an exit status. A status that is made up is the
// ledger's to find: here only what goes with it counts.
func reasons(code int32) []string {
	switch code {
	case 0:
		return []string{"Completed"}
	case 128: // errorStartExitCode
		return []string{"Error", startError}
	case 255: // unknownExitCode
		return []string{"Error", "Unknown"}
	}
	return []string{"Error"}
}

// reason judges that of an answer. One in which a process has taken too much memory by
// then may be OOMKilled whatever it ends with, and no other; whether it must be, ooms
// judges.
func reason(i harness.Instance, s criview.Status) []finding.Finding {
	hogged := i.Payload.HoggedAt
	oomKilled := s.Reason == criview.OOMKilled && !hogged.IsZero() && !s.Seen.Before(hogged)
	if s.State != criview.Exited || oomKilled {
		return nil
	}
	if want := reasons(s.ExitCode); !slices.Contains(want, s.Reason) {
		return []finding.Finding{about(fact.AContainer, s.ID, fact.FieldReason, fact.Other, s.Reason,
			fmt.Sprintf("%s, for its exit code %d", want[0], s.ExitCode))}
	}
	return nil
}

// lastState judges the last answer about a container: it is not called exited while it
// runs, and it is when it ended so long ago that CRI must know.
func lastState(h *harness.History, i harness.Instance, last criview.Status) []finding.Finding {
	wrong := func(is, truth string, at time.Time) []finding.Finding {
		return []finding.Finding{
			about(fact.AContainer, i.ID, fact.FieldState, is, last.State, truth+" at "+stamp(at)),
		}
	}
	if last.State == criview.Exited {
		if own := i.Payload; own.Exited && own.ExitedAt.After(last.Seen.Add(clockTolerance)) && !fired(h, last.Seen) {
			return wrong(fact.TooEarly, "it ended", own.ExitedAt)
		}
		return nil
	}
	ended, how := i.Payload.ExitedAt, "it ended"
	if stopped, ok := stoppedAt(h, i); ok && ended.IsZero() {
		ended, how = stopped, stopVerb(i)+" succeeded"
	}
	if !ended.IsZero() && last.Asked.Sub(upSince(h, ended, last.Asked)) > learnBound {
		return wrong(fact.TooLate, how, ended)
	}
	return nil
}

// uniqueCauses leaves of findings about one id that have the same cause the first: CRI is
// asked again and again, and says the same.
func uniqueCauses(found []finding.Finding) []finding.Finding {
	var out []finding.Finding
	for _, f := range found {
		if !slices.ContainsFunc(out, func(o finding.Finding) bool {
			return o.Class == f.Class && o.Subject == f.Subject && o.Facts.Cause() == f.Facts.Cause()
		}) {
			out = append(out, f)
		}
	}
	return out
}
