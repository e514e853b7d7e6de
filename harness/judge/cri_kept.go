package judge

import (
	"strconv"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// criKept: CRI does not change its reports about the past, also after a restart. These
// are the end of a container, its start, and the creation of its sandbox. A fault in a
// call of containerd's own may have kept it from writing them down.
func criKept(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	said := map[string]criview.Status{}
	for _, is := range h.CRI.Statuses {
		if was, ok := said[is.ID]; ok && !broken(h, is.Seen) {
			found = append(found, forgot(was, is)...)
		}
		said[is.ID] = is
	}
	made := map[string]time.Time{}
	for _, s := range h.CRI.Sandboxes {
		if s.Err != nil || s.State != criview.Ready || s.Created.IsZero() {
			continue // of a sandbox whose shim is gone CRI has no time (PodSandboxStatus of v2.4.2)
		}
		if was, ok := made[s.ID]; ok && apart(was, s.Created) {
			found = append(found, about(fact.ASandbox, s.ID, fact.FieldCreated, fact.Changed,
				stamp(s.Created), stamp(was)))
		}
		made[s.ID] = s.Created
	}
	return uniqueCauses(found), nil
}

// forgot compares two answers about one container. What was said was written down, to the
// nanosecond: a time that is made up anew may be close to it, and in a test always is.
func forgot(was, is criview.Status) (found []finding.Finding) {
	changed := func(field, reported, before string) {
		found = append(found, about(fact.AContainer, is.ID, field, fact.Changed, reported, before))
	}
	for _, t := range []struct {
		field   string
		was, is time.Time
	}{
		{fact.FieldCreated, was.Created, is.Created}, {fact.FieldStarted, was.Started, is.Started},
		{fact.FieldFinished, was.Finished, is.Finished},
	} {
		if !t.was.IsZero() && !t.was.Equal(t.is) {
			changed(t.field, finely(t.is), finely(t.was))
		}
	}
	if was.State != criview.Exited {
		return found
	}
	if is.State != was.State {
		changed(fact.FieldState, is.State, was.State)
	}
	if is.ExitCode != was.ExitCode {
		changed(fact.FieldExitCode, strconv.Itoa(int(is.ExitCode)), strconv.Itoa(int(was.ExitCode)))
	}
	if is.Reason != was.Reason && is.Reason != criview.OOMKilled { // it learns that by another way, perhaps later
		changed(fact.FieldReason, is.Reason, was.Reason)
	}
	return found
}

// finely is a time as CRI keeps it.
func finely(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// apart reports whether CRI's clients can tell two times from each other.
func apart(a, b time.Time) bool { return a.Sub(b).Abs() > clockTolerance }

// unprobed reports whether a fault is not among the hits.
func unprobed(f failpoints.Fault) bool { return !f.At.Kind.Probed() }
