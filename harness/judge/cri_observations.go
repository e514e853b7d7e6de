package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// observations: each state that CRI reports for a pod or a container is possible at
// that time. Its times match the calls and the payload's end, and its reason fits
// its exit code. A time, exit code or reason does not change in a later response.
// CRI's lists have the objects that containerd has.
func observations(h *run) (found []finding.Finding, problems []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	for _, r := range stateReports(h) {
		if r.err != nil && !fired(h, r.answered) {
			found = append(found, about(r.object, r.id, fact.FieldState, fact.NotSet, r.err.Said, "the object exists"))
		}
		for _, row := range stateRows {
			if row.object == r.object && row.by == r.by && r.err == nil {
				found = append(found, row.judge(h, r)...)
			}
		}
	}
	lists, problems := listedObjects(h)
	return slices.Concat(uniqueCauses(slices.Concat(found, attributes(h))), lists), problems
}

// reporter is a way in which CRI reports a state.
type reporter string

// The reporters. A client asks for the status of a container until the container has
// exited. Only the last status must report the exit.
const (
	byStatus      reporter = "ContainerStatus or PodSandboxStatus"
	byLastStatus  reporter = "the last ContainerStatus"
	byFailedStart reporter = "ContainerStatus after a failed StartContainer"
	byList        reporter = "ListContainers or ListPodSandbox"
	byFirstList   reporter = "ListPodSandbox, before the response to RunPodSandbox"
	byStop        reporter = "a successful StopContainer or StopPodSandbox"
)

// stateReport is a report of CRI about the state of a sandbox or a container.
type stateReport struct {
	object, id string
	by         reporter
	state      string          // as the API names it; "": it is not listed
	err        *callerr.Failed // why CRI could not report it
	stopped    bool            // StopPodSandbox had succeeded before
	asked      time.Time
	answered   time.Time
}

// stateReports are the reports of a history.
func stateReports(h *run) (all []stateReport) {
	for _, s := range h.CRI.Sandboxes {
		all = append(all, stateReport{fact.ASandbox, s.ID, byStatus, s.State, s.Err, s.Stopped, s.At,
			latest(s.At, s.Answered)})
	}
	for _, s := range h.CRI.Unanswered {
		all = append(all, stateReport{fact.ASandbox, s.ID, byFirstList, s.State, nil, false, s.At, s.Answered})
	}
	for _, s := range h.CRI.States {
		all = append(all, stateReport{s.Object, s.ID, byList, s.State, nil, s.Stopped, s.At, latest(s.At, s.Answered)})
	}
	last := map[string]criview.Status{}
	for _, s := range h.CRI.Statuses {
		last[s.ID] = s
		all = append(all, stateReport{fact.AContainer, s.ID, byStatus, s.State, nil, false, s.Asked, s.Seen})
	}
	for _, s := range h.CRI.NotStarted {
		all = append(all, stateReport{fact.AContainer, s.ID, byFailedStart, s.State, nil, false, s.Asked, s.Seen})
	}
	for _, i := range h.Instances {
		if s, ok := last[i.ID]; ok {
			all = append(all, stateReport{fact.AContainer, i.ID, byLastStatus, s.State, nil, false, s.Asked, s.Seen})
		}
		if at, ok := stoppedAt(h, i); ok {
			all = append(all, stateReport{fact.AContainer, i.ID, byStop, "that it is stopped", nil, false, at, at})
		}
	}
	return all
}

// stateRow has the states that a reporter may not report.
type stateRow struct {
	object string
	by     reporter
	// wrong reports whether a state is impossible, if the row applies.
	wrong func(state string) bool
	is    string
	// because returns why the state is impossible, or "" if the row does not apply. A
	// function made by must returns the only possible state.
	because func(*run, stateReport) string
}

// stateRows are the checks of reported states. A check with faultless is only for reports
// before the first fault.
var stateRows = []stateRow{
	{fact.ASandbox, byStatus, is(criview.Ready), fact.TooLate, stoppedPod},
	{fact.ASandbox, byStatus, is(criview.Ready), fact.TooLate, lostPod},
	{fact.ASandbox, byStatus, isNot(criview.Ready), fact.TooEarly, runningPod},
	{fact.ASandbox, byFirstList, is(criview.Ready), fact.TooEarly, halfMade},
	{fact.ASandbox, byList, is(criview.Ready), fact.TooLate, faultless(stoppedPod)},
	{fact.ASandbox, byList, isNot(criview.Ready, criview.NotReady), fact.Other,
		faultless(must(criview.NotReady, stoppedPod))},
	{fact.ASandbox, byList, isNot(criview.Ready), fact.Other, must(criview.Ready, runningPod)},
	{fact.AContainer, byList, isNot(criview.Exited), fact.Other, must(criview.Exited, saidToHaveExited)},
	{fact.AContainer, byFailedStart, isNot(criview.Exited), fact.Other, faultless(failedStart)},
	{fact.AContainer, byStatus, is(criview.Running), fact.TooLate, stoppedOnce},
	{fact.AContainer, byStop, isNot(), fact.TooEarly, endsLater},
	{fact.AContainer, byLastStatus, is(criview.Exited), fact.TooEarly, faultless(stillRuns)},
	{fact.AContainer, byLastStatus, isNot(criview.Exited), fact.TooLate, endedLongAgo},
}

func is(state string) func(string) bool { return func(s string) bool { return s == state } }

func isNot(states ...string) func(string) bool {
	return func(s string) bool { return !slices.Contains(states, s) }
}

// judge returns the finding about a report, if it is impossible.
func (row stateRow) judge(h *run, r stateReport) []finding.Finding {
	because := ""
	if row.wrong(r.state) {
		because = row.because(h, r)
	}
	if because == "" {
		return nil
	}
	f := about(r.object, r.id, fact.FieldState, row.is, r.state, because)
	if r.by == byList {
		f.Facts[fact.What] = fact.Listing
	}
	return []finding.Finding{f}
}

// faultless returns a function that gives the reason only before the first fault.
func faultless(because func(*run, stateReport) string) func(*run, stateReport) string {
	return func(h *run, r stateReport) string {
		if fired(h, r.answered) {
			return ""
		}
		return because(h, r)
	}
}

// must returns a function that gives the state that CRI must report, in place of the
// reason.
func must(
	state string, because func(*run, stateReport) string,
) func(*run, stateReport) string {
	return func(h *run, r stateReport) string {
		if because(h, r) == "" {
			return ""
		}
		return state
	}
}

// stoppedPod applies after a successful stop.
func stoppedPod(_ *run, r stateReport) string {
	if r.stopped {
		return "StopPodSandbox had succeeded"
	}
	return ""
}

// runningPod applies before the stop and before the first fault.
func runningPod(h *run, r stateReport) string {
	if r.stopped || fired(h, r.answered) {
		return ""
	}
	return "RunPodSandbox had succeeded, and nothing had stopped it"
}

// lostPod applies if the init or the shim of a sandbox was killed before the present
// containerd started. That containerd needs no event, because it finds no process.
func lostPod(h *run, r stateReport) string {
	if r.stopped || !lostBeforeStart(h, r.asked) {
		return ""
	}
	return "its init or its shim was killed before containerd was started"
}

// halfMade applies if the shim of a sandbox had created the sandbox's init, and had not
// begun to start it.
func halfMade(h *run, r stateReport) string {
	did := func(point string) bool {
		return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
			return hit.Who == "shim" && hit.ID == r.id && hit.Point == point && hit.Time.Before(r.answered)
		})
	}
	if !did("rpc:shim:Task.Create:exit") || did("rpc:shim:Task.Start:entry") {
		return ""
	}
	return "its shim had created its init, and not started it"
}

// saidToHaveExited applies after ContainerStatus reported that the container had exited,
// unless a fault may have kept containerd from storing that.
func saidToHaveExited(h *run, r stateReport) string {
	said := slices.ContainsFunc(slices.Concat(h.CRI.Statuses, h.CRI.NotStarted), func(s criview.Status) bool {
		return s.ID == r.id && s.State == criview.Exited && !s.Seen.After(r.asked)
	})
	removed := slices.ContainsFunc(h.CRI.Done, func(d harness.CRIDone) bool {
		return d.Verb == "RemoveContainer" && d.ID == r.id && !d.At.After(r.answered)
	})
	if !said || removed || broken(h, r.answered) {
		return ""
	}
	return "ContainerStatus had reported its exit"
}

// failedStart applies to a container whose start has failed. CRI reports such a container
// as exited, and does not start it again.
func failedStart(h *run, r stateReport) string {
	if _, ok := processOf(h, r.id, ""); !ok {
		return ""
	}
	return criview.Exited + ": " + startFailed
}

// stoppedOnce applies to a container after its only stop. The history merges
// equal statuses into one with the time of the last request. So it does not show whether
// the container had ended between two stops, and such a container is not checked.
func stoppedOnce(h *run, r stateReport) string {
	i, at := stopBefore(h, r.id)
	_, once := stopOf(h, i)
	if at.IsZero() || !r.asked.After(at) || tolerated(h, stopEnds, span{at, r.asked}) || !once {
		return ""
	}
	return stopVerb(i) + " succeeded at " + stamp(at)
}

// endsLater applies to a container that has ended after the response to its stop.
func endsLater(h *run, r stateReport) string {
	i, at := stopBefore(h, r.id)
	if own := i.Payload; !at.IsZero() && own.Exited && own.ExitedAt.After(at) {
		return fmt.Sprintf("it ended %s later", own.ExitedAt.Sub(at))
	}
	return ""
}

// stopBefore returns a container and the time of the response to its stop. The time is
// zero if a fault may have ended the container, or kept it running.
func stopBefore(h *run, id string) (harness.Instance, time.Time) {
	p, _ := processOf(h, id, "")
	at, stopped := stoppedAt(h, p.i)
	if !stopped || tolerated(h, stopEnds, span{}) {
		return p.i, time.Time{}
	}
	return p.i, at
}

// stillRuns applies to a container that has ended after the report.
func stillRuns(h *run, r stateReport) string {
	p, _ := processOf(h, r.id, "")
	if own := p.record(); own.Exited && own.ExitedAt.After(r.answered.Add(clockTolerance)) {
		return "it ended at " + stamp(own.ExitedAt)
	}
	return ""
}

// learnBound is how long after a container's end CRI may report the container as
// running or UNKNOWN. CRI gives each try to handle an exit 10 s (handleEventTimeout),
// and tries again a second later (internal/cri/server/events). A restart of containerd
// begins this time anew.
const learnBound = 25 * time.Second

// endedLongAgo applies to a container that has ended so long ago that CRI must know.
func endedLongAgo(h *run, r stateReport) string {
	p, _ := processOf(h, r.id, "")
	ended, how := p.i.Payload.ExitedAt, "it ended"
	if stopped, ok := stoppedAt(h, p.i); ok && ended.IsZero() {
		ended, how = stopped, stopVerb(p.i)+" succeeded"
	}
	if ended.IsZero() || r.asked.Sub(upSince(h, ended, r.asked)) <= learnBound {
		return ""
	}
	return how + " at " + stamp(ended)
}
