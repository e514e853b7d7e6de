package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// finish waits for steps under way and says for each fault whether it happened.
func (in *injector) finish() []Firing {
	in.x.controller.AwaitPauses()
	in.mu.Lock()
	proving := in.proving
	in.proving = nil
	in.mu.Unlock()
	for _, proof := range proving {
		if err := proof(); err != nil {
			in.x.invalid(err)
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	firings := make([]Firing, len(in.x.Plan))
	for i, f := range in.x.Plan {
		firings[i] = Firing{Fault: f, Text: f.String(), Count: in.proofs[i].count, Proof: in.proofs[i].text}
		if f.At.Kind.Probed() {
			firings[i].Count, firings[i].Proof, firings[i].Miss = in.counted(i)
		}
		if firings[i].Count == 0 && firings[i].Proof == "" {
			firings[i].Proof = "did not fire"
		}
	}
	misbehaved, err := in.x.misbehaved()
	if err != nil {
		in.x.invalid(err)
	}
	return append(firings, misbehaved...)
}

// counted is how often a fault at a probe happened, how that is known, and what is known of why it did not. A process that was to crash must have been seen
// to end: init reaps containerd and the shims.
func (in *injector) counted(i int) (int, string, Miss) {
	n := in.x.controller.Fired(i)
	if n == 0 {
		return 0, "", ""
	}
	if want := leastHits(in.x.Plan[i].Do); n < want {
		return 0, fmt.Sprintf("fired %d times, and its last part comes with the %d.", n, want), ""
	}
	proof := fmt.Sprintf("fired %d times, counted by the probe", n)
	hits := in.x.controller.Hits()
	for at, h := range hits {
		if h.Fault != i {
			continue
		}
		if h.Did == term.Cancel || h.Did == term.Deadline {
			if !heeded(h, hits[at+1:]) {
				return 0, fmt.Sprintf("the context of %s, pid %d in its world, was ended at %s, and the call went on as if it were not", h.Who, h.PID, h.Point), MissUnheeded
			}
			continue
		}
		if h.Did != term.Crash {
			continue
		}
		how, err := in.crashed(h.PID)
		if err != nil {
			miss := Miss("")
			if errors.Is(err, errOvertaken) {
				miss = MissOvertaken
			}
			return 0, fmt.Sprintf("%s, pid %d in its world, was told to crash and was not seen to: %v", h.Who, h.PID, err), miss
		}
		proof += fmt.Sprintf("; %s, pid %d in its world, %s", h.Who, h.PID, how)
	}
	return n, proof, ""
}

// heeded says whether a call whose context was ended has failed. A handler may not look at its context at all, and then nothing was broken. At an exit
// point the probe itself puts the context's error in the place of the outcome.
func heeded(h failpoints.Hit, later []failpoints.Hit) bool {
	if strings.HasPrefix(h.Point, string(failpoints.Stmt)+":") { // the probe tells whether the context at hand has ended with the request
		return slices.ContainsFunc(later, func(l failpoints.Hit) bool { return l.Point == h.Point && l.PID == h.PID && l.Ended })
	}
	call, entry := strings.CutSuffix(h.Point, ":entry")
	if !entry {
		return true
	}
	for _, l := range later {
		if l.Point == call+":exit" && l.PID == h.PID && l.ID == h.ID && l.ExecID == h.ExecID {
			return l.Err != ""
		}
	}
	return true // it never came back
}

// leastHits is how often a term must have done something until each of its parts has at least once: 1*error->1*crash has not happened before the
// crash has.
func leastHits(t term.Term) int {
	least, before := 0, 0
	for _, c := range t.Clauses() {
		if c.Action == term.Off {
			continue
		}
		least = before + 1
		before += max(c.Count, 1)
	}
	return least
}
