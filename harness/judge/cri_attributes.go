package judge

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// attributes returns the wrong attributes that CRI reports:
//
//	attribute                 set by                     holds
//	created at                CreateContainer            within 1 s, and to the nanosecond from the first report
//	started at                StartContainer             the same
//	finished at               the end of the process     the same; 5 s for the shim to reap it
//	exit code, reason         the end of the process     from the first report; a reason may become OOMKilled
//	code 128, StartError      a failed StartContainer    until the first fault; never 0
//	a sandbox's created at    RunPodSandbox              within 1 s from the first report
//
// A restart changes no attribute. A fault in one of containerd's own calls may have kept
// it from storing the attribute. Rule exits compares the exit code with the real one.
func attributes(h *run) (found []finding.Finding) {
	for _, i := range h.Instances {
		for _, s := range h.CRI.Statuses {
			if s.ID == i.ID {
				found = append(found, statusTimes(h, i, s)...)
				found = append(found, reason(i, s)...)
			}
		}
	}
	for n, s := range h.CRI.Statuses {
		if was, ok := statusBefore(h.CRI.Statuses[:n], s); ok && !tolerated(h, reportWritten, until(s.Seen)) {
			found = append(found, forgot(was, s)...)
		}
	}
	return slices.Concat(found, afterFailedStarts(h), sandboxTimes(h))
}

// statusBefore returns the last earlier status of the same container that CRI had
// reported when the client asked for this one. Requests of concurrent steps overlap.
func statusBefore(earlier []criview.Status, s criview.Status) (was criview.Status, ok bool) {
	for _, was := range slices.Backward(earlier) {
		if was.ID == s.ID && !was.Seen.After(s.Asked) {
			return was, true
		}
	}
	return criview.Status{}, false
}

// afterFailedStarts returns the wrong attributes of containers whose start has failed. A
// restarted containerd may report the state UNKNOWN, if a fault kept containerd from
// rolling the start back.
func afterFailedStarts(h *run) (found []finding.Finding) {
	for n, s := range h.CRI.NotStarted {
		if s.State == criview.Exited && s.ExitCode == 0 {
			found = append(found, about(fact.AContainer, s.ID, fact.FieldExitCode, fact.Other, "0",
				"another than 0: "+model.StartFailed))
		}
		p, known := processOf(h, s.ID, "")
		if known && s.State == criview.Exited && !tolerated(h, stateReported, until(s.Seen)) {
			found = append(found, statusTimes(h, p.i, s)...)
			if s.Reason != startError {
				found = append(found, about(fact.AContainer, s.ID, fact.FieldReason, fact.Other, s.Reason,
					startError+": "+model.StartFailed))
			}
		}
		was, ok := statusBefore(h.CRI.NotStarted[:n], s)
		doubts := s.State == criview.Unknown && tolerated(h, stateReported, until(was.Seen))
		if ok && !doubts && !tolerated(h, reportWritten, span{was.Seen, s.Seen}) {
			found = append(found, forgot(was, s)...)
		}
	}
	return found
}

// sandboxTimes returns the changed times of creation. CRI has none for a sandbox whose
// shim is gone (PodSandboxStatus of v2.4.2).
func sandboxTimes(h *run) (found []finding.Finding) {
	created := map[string]time.Time{}
	for _, s := range h.CRI.Sandboxes {
		if s.Err != nil || s.State != criview.Ready || s.Created.IsZero() {
			continue
		}
		if was, ok := created[s.ID]; ok && apart(was, s.Created) {
			found = append(found, about(fact.ASandbox, s.ID, fact.FieldCreated, fact.Changed,
				stamp(s.Created), stamp(was)))
		}
		created[s.ID] = s.Created
	}
	return found
}

// clockTolerance is the largest error of a time that CRI reports. The machine's clock may
// be adjusted a little while a case runs. CRI's clients keep times in whole seconds
// (metav1.Time).
const clockTolerance = time.Second

// about returns the finding about one field that CRI reports of an id.
func about(object, id, field, is, reported, true_ string) finding.Finding {
	return finding.Finding{
		Invariant: finding.Status, Class: finding.ClassCRIStatus, Subject: finding.Subject{ID: id},
		Facts: fact.Facts{fact.Object: object, fact.Field: field, fact.Is: is,
			fact.Reported: reported, fact.True: true_},
	}
}

// window has the bounds of a reported time. A bound with a zero time does not count.
type window struct {
	field    string
	reported time.Time
	from, to model.Moment
	mustBe   bool // CRI must have the time by now
}

// statusTimes returns the wrong times of a status.
func statusTimes(h *run, i harness.Instance, s criview.Status) (found []finding.Finding) {
	exited := s.State == criview.Exited
	asked := model.Moment{What: "it was asked for", At: i.Begun}
	said := model.Moment{What: "CRI has said so", At: s.Seen}
	started := window{fact.FieldStarted, s.Started, asked, said,
		s.State == criview.Running || exited && !i.Started.IsZero()}
	if !i.Started.IsZero() && !tolerated(h, startTimeKept, span{}) {
		started.to = model.Moment{What: "StartContainer has succeeded", At: i.Started}
	}
	finished := window{field: fact.FieldFinished, reported: s.Finished, to: said, mustBe: exited}
	finished.from.At, finished.from.What = livedUntil(h, i)
	if by := endedBy(h, i); initOf(h, i).reportedTrue(uint32(s.ExitCode)) && !by.IsZero() && by.Before(s.Seen) {
		finished.to = model.Moment{What: "a shim has reaped it at the latest", At: by}
	}
	for _, w := range []window{{fact.FieldCreated, s.Created, asked, said, true}, started, finished} {
		if is, bound := w.judge(); is != "" {
			found = append(found, about(fact.AContainer, i.ID, w.field, is, stamp(w.reported), bound))
		}
	}
	return found
}

// judge returns the error in a time, and the bound that the time is beyond.
func (w window) judge() (is, bound string) {
	switch {
	case w.reported.IsZero() && w.mustBe:
		return fact.NotSet, "it has happened"
	case w.reported.IsZero():
	case !w.from.At.IsZero() && w.reported.Before(w.from.At.Add(-clockTolerance)):
		return fact.TooEarly, stamp(w.from.At) + ", when " + w.from.What
	case !w.to.At.IsZero() && w.reported.After(w.to.At.Add(clockTolerance)):
		return fact.TooLate, stamp(w.to.At) + ", when " + w.to.What
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

// reasons has the reasons that CRI may give for an exit code. For the others it must give
// Error.
var reasons = map[int32][]string{
	0:   {"Completed"},
	128: {"Error", startError}, // errorStartExitCode
	255: {"Error", "Unknown"},  // unknownExitCode
}

// reason returns a finding if a reason does not match its exit code. A container may be
// OOMKilled only after a process in it has taken too much memory. The function oomReason
// returns a finding if that reason is missing.
func reason(i harness.Instance, s criview.Status) []finding.Finding {
	hogged := i.Payload.HoggedAt
	oomKilled := s.Reason == criview.OOMKilled && !hogged.IsZero() && !s.Seen.Before(hogged)
	want, known := reasons[s.ExitCode]
	if !known {
		want = []string{"Error"}
	}
	if s.State != criview.Exited || oomKilled || slices.Contains(want, s.Reason) {
		return nil
	}
	return []finding.Finding{about(fact.AContainer, s.ID, fact.FieldReason, fact.Other, s.Reason,
		fmt.Sprintf("%s, for its exit code %d", want[0], s.ExitCode))}
}

// forgot returns the attributes that differ between two statuses of a container. It
// compares times to the nanosecond, as CRI stores them, because an invented time may be
// close to the real one.
func forgot(was, is criview.Status) (found []finding.Finding) {
	exited := was.State == criview.Exited
	for _, a := range []struct {
		field, was, is string
		kept           bool
	}{
		{fact.FieldCreated, finely(was.Created), finely(is.Created), !was.Created.IsZero()},
		{fact.FieldStarted, finely(was.Started), finely(is.Started), !was.Started.IsZero()},
		{fact.FieldFinished, finely(was.Finished), finely(is.Finished), !was.Finished.IsZero()},
		{fact.FieldState, was.State, is.State, exited},
		{fact.FieldExitCode, strconv.Itoa(int(was.ExitCode)), strconv.Itoa(int(is.ExitCode)), exited},
		// Another event reports an OOM kill.
		{fact.FieldReason, was.Reason, is.Reason, exited && is.Reason != criview.OOMKilled},
	} {
		if a.kept && a.was != a.is {
			found = append(found, about(fact.AContainer, is.ID, a.field, fact.Changed, a.is, a.was))
		}
	}
	return found
}

// finely returns a time as CRI stores it.
func finely(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// apart reports whether CRI's clients can tell two times from each other.
func apart(a, b time.Time) bool { return a.Sub(b).Abs() > clockTolerance }

// uniqueCauses returns the first of the findings about one id with the same cause. CRI
// reports the same error at each request.
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
