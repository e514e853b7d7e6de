package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/finding"
)

// exits: every reported exit status is the true one.
func exits(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	truths, reported, _ := ledger(h)
	var sent []exit.Sent
	for _, s := range h.Signals {
		sent = append(sent, exit.Sent{Container: s.Container, Signal: s.Signal, By: "the client"})
	}
	wrong, err := exit.Wrong(truths, reported, sent)
	wrong = slices.DeleteFunc(wrong, func(f finding.Finding) bool { return saysUnknown(h, f) })
	if err != nil {
		return circumstances(h, wrong), problem(harness.ByTruth, err.Error())
	}
	return circumstances(h, wrong), nil
}

// payloads: the end of each payload is known.
func payloads(h *harness.History) (_ []finding.Finding, out []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		if _, _, err := truth(h, i); err != nil {
			out = append(out, problem(harness.ByTruth, err.Error())...)
		}
		for _, e := range i.Execs {
			if _, _, err := execTruth(h, i, e); err != nil {
				out = append(out, problem(harness.ByTruth, err.Error())...)
			}
		}
	}
	return nil, out
}

// ledger is what is true of exits, what was reported of those, and which payloads never
// ran.
func ledger(h *harness.History) (truths []exit.Truth, reported []exit.Observation, neverBegan []string) {
	if !looked(h) {
		return nil, nil, nil
	}
	type process struct{ container, exec string }
	ran := map[process]bool{}
	for _, i := range h.Instances {
		t, did, err := truth(h, i)
		switch {
		case i.ID == "" || err != nil: // it was never created, or payloads tells why nothing is known
		case !did:
			neverBegan = append(neverBegan, i.ID)
		default:
			ran[process{i.ID, ""}] = true
			truths = append(truths, t)
		}
		for _, e := range i.Execs {
			if t, did, err := execTruth(h, i, e); did && err == nil {
				ran[process{i.ID, e.Called()}] = true
				truths = append(truths, t)
			}
		}
	}
	events, hits, clients := h.FirstUse()
	shims := shimsReported(hits)
	for _, o := range slices.Concat(clients, syncsReported(h), exit.OfEvents(events), shims) {
		if ran[process{o.Container, o.Exec}] { // of a payload that never began nothing is known
			reported = append(reported, o)
		}
	}
	return truths, reported, neverBegan
}
