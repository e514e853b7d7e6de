package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
)

// notStarted adds a status of a container after its StartContainer failed.
func notStarted(state string, code int32) func(*harness.History) {
	return func(h *harness.History) {
		h.CRI.NotStarted = []criview.Status{{ID: "c9", State: state, ExitCode: code}}
	}
}

// refusedTwice adds two statuses of a container that CRI refused to start: was at 25, and
// is at 35, after a restart.
func refusedTwice(was, is func(*criview.Status)) func(*harness.History) {
	return func(h *harness.History) {
		h.Instances = append(h.Instances, harness.Instance{Name: "c1", ID: "c9", Begun: at(5),
			Spec: harness.Container{NoSuchCommand: true}})
		s := criview.Status{ID: "c9", State: criview.Exited, ExitCode: 128, Reason: startError, Created: at(6),
			Finished: at(22), Asked: at(24), Seen: at(25)}
		was(&s)
		again := s
		again.Asked, again.Seen = at(34), at(35)
		is(&again)
		h.CRI.NotStarted = []criview.Status{s, again}
	}
}

// breaks adds a fault that breaks a call.
func breaks(ms int) func(*harness.History) {
	return func(h *harness.History) {
		h.Case.Plan = failpoints.Plan{failpoints.Once(createExit, term.Error)}
		h.Firings = []harness.Firing{{Count: 1, At: at(ms)}}
		h.Hits = []failpoints.Hit{hit(createExit, ms, func(h *failpoints.Hit) { h.Fault, h.Did = 0, term.Error })}
		h.Flushed.Hits = 1
	}
}

func TestWhatCRISaysOfTheRefused(t *testing.T) {
	same := func(*criview.Status) {}
	made := func(s *criview.Status) {
		s.State, s.Finished, s.Reason, s.ExitCode = "CONTAINER_CREATED", time.Time{}, "", 0
	}
	plain := func(s *criview.Status) { s.Reason = "Error" }
	ended := func(when time.Time) func(*criview.Status) {
		return func(s *criview.Status) { s.Finished = when }
	}
	later := ended(at(34))
	const field = "status cri-status object=container field="
	judgedPod(t, map[string]row{
		"it has ended, and has still": {refusedTwice(same, same), ""},
		"it is still called made":     {refusedTwice(made, made), field + "state is=other"},
		"for no reason of its own":    {refusedTwice(plain, same), field + "reason is=other"},
		"it has no end":               {refusedTwice(ended(time.Time{}), same), field + "finished-at is=not-set"},
		"it ended 20 years ago": {refusedTwice(ended(at(0).AddDate(-20, 0, 0)), same),
			field + "finished-at is=too-early"},
		"it is forgotten":    {refusedTwice(same, made), field + "state is=changed"},
		"it ends again":      {refusedTwice(same, later), field + "finished-at is=changed"},
		"after a fault, too": {also(refusedTwice(same, later), breaks(20)), field + "finished-at is=changed"},
		"containerd was killed": {also(refusedTwice(made, made), breaks(20), func(h *harness.History) {
			h.Hits[0].Who, h.Hits[0].Did = "containerd", term.Crash
		}), ""},
		"a fault has broken the start": {also(refusedTwice(made, made), breaks(20)), ""},
		"a fault has left a task of it": {also(refusedTwice(same, func(s *criview.Status) {
			s.State = criview.Unknown
		}), breaks(20)), ""},
		"it is not known any more": {refusedTwice(same, func(s *criview.Status) { s.State = criview.Unknown }),
			field + "state is=other"},
		"a fault may have changed it": {also(refusedTwice(same, later), breaks(30)), ""},
		"a list calls it made": {also(refusedTwice(same, same), func(h *harness.History) {
			h.CRI.States = append(h.CRI.States, harness.CRIState{Object: fact.AContainer, ID: "c9",
				State: "CONTAINER_CREATED", At: at(36), Answered: at(37)})
		}), field + "state is=other what=listing"},
		"it is not listed": {unlisted(), field + "state is=other what=listing"},
		"it is not listed once it was removed": {also(unlisted(), func(h *harness.History) {
			h.CRI.Done = append(h.CRI.Done, done("RemoveContainer", "c9", 35))
		}), ""},
	})
}

// unlisted has CRI list a container no more whose start has failed.
func unlisted() func(*harness.History) {
	same := func(*criview.Status) {}
	return also(refusedTwice(same, same), func(h *harness.History) {
		h.CRI.States = append(h.CRI.States,
			harness.CRIState{Object: fact.AContainer, ID: "c9", At: at(36), Answered: at(37)})
	})
}

func TestRulesOfFailedStarts(t *testing.T) {
	judgedPod(t, map[string]row{
		"it has failed, too":      {notStarted(criview.Exited, 128), ""},
		"it is still called made": {notStarted("CONTAINER_CREATED", 0), ""},
		"what it was killed with": {notStarted(criview.Exited, 137), ""},
		"it is said to have succeeded": {notStarted(criview.Exited, 0),
			"status cri-status object=container field=exit-code is=other"},
	})
}
