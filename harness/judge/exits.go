package judge

import (
	"errors"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// exits: everybody who tells an exit status tells the true one.
func exits(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	l := &oracle.Ledger{}
	truths, told, _ := ledger(h)
	var problems []harness.Problem
	for _, t := range truths {
		if err := l.True(t); err != nil {
			problems = append(problems, problem(harness.ByTruth, err.Error())...)
		}
	}
	for _, s := range h.Signals {
		l.Sent(s.Container, "", s.Signal, "the client")
	}
	for _, o := range told {
		l.Observe(o)
	}
	wrong, err := l.Check()
	if errors.Is(err, oracle.ErrNoTruth) {
		problems = append(problems, problem(harness.ByTruth, err.Error())...)
	}
	return circumstances(h, wrong), problems
}

// payloads: how a payload ended is known.
func payloads(h *harness.History) (_ []oracle.Finding, out []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		if _, _, err := truth(h, i); err != nil {
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
