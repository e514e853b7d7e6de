package judge

import (
	"errors"
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// exits: everybody who tells an exit status tells the true one; and when nothing was
// broken, everybody who should tell it does.
func exits(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	l := &oracle.Ledger{}
	truths, told, _ := ledger(h)
	ran := map[string]bool{}
	var problems []harness.Problem
	for _, t := range truths {
		ran[t.Container] = true
		if err := l.True(t); err != nil {
			problems = append(problems, problem(harness.ByTruth, err.Error())...)
		}
	}
	for _, i := range h.Instances {
		if ran[i.ID] {
			l.Require(i.ID, "", i.MustTell...)
		}
	}
	for _, s := range h.Signals {
		l.Sent(s.Container, "", s.Signal, "the client")
	}
	for _, o := range told {
		l.Observe(o)
	}
	if len(ran) == 0 && !h.Case.Faultless() {
		return nil, problems
	}
	wrong, err := l.Check()
	// After a fault there may be nobody left to ask; events, which must arrive, are judged
	// by themselves.
	if err != nil && (!errors.Is(err, oracle.ErrNotObserved) || errors.Is(err, oracle.ErrNoTruth) || h.Case.Faultless()) {
		problems = append(problems, problem(harness.ByTruth, err.Error())...)
	}
	return wrong, problems
}

// payloads: how a payload ended is known, and as it was to end when nothing was broken.
func payloads(h *harness.History) (_ []oracle.Finding, out []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		t, ran, err := truth(h, i)
		if err == nil && ran && len(h.Case.Plan) == 0 && t.Status != i.Spec.Want() {
			err = fmt.Errorf(
				"the payload of %s was to end with %d, ended with %d (%s), and nothing was broken",
				i.Name,
				i.Spec.Want(),
				t.Status,
				t.Source,
			)
		}
		if err != nil {
			out = append(out, problem(harness.ByTruth, err.Error())...)
		}
	}
	return nil, out
}

// ledger is what is true of exits, what was told of those, and which payloads never ran.
func ledger(h *harness.History) (truths []oracle.Truth, told []oracle.Observation, neverBegan []string) {
	if !looked(h) {
		return nil, nil, nil
	}
	ran := map[string]bool{}
	for _, i := range h.Instances {
		t, did, err := truth(h, i)
		switch {
		case i.ID == "" || err != nil: // it was never created, or payloads tells why nothing is known
		case !did:
			neverBegan = append(neverBegan, i.ID)
		default:
			ran[i.ID] = true
			truths = append(truths, t)
		}
	}
	all := append(append([]oracle.Observation{}, h.Told[:h.Flushed.Told]...), oracle.Told(h.Events[:h.Flushed.Events])...)
	for _, o := range append(all, shimsTold(h.Hits[:h.Flushed.Hits])...) {
		if ran[o.Container] { // of a payload that never began nothing is known
			told = append(told, o)
		}
	}
	return truths, told, neverBegan
}
