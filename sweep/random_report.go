package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
)

// RandomReport is the report of random plans.
type RandomReport struct {
	Report
	Drawn  int `json:"drawn"`
	Missed int `json:"notReached"`
	// Shrunk are the smallest plans of new violations, by rapid, each with its seed.
	Shrunk []Shrunk `json:"shrunk"`
	// Replay is how the seeds are replayed.
	Replay string `json:"replay"`
}

// Shrunk is what rapid has made of a new violation.
type Shrunk struct {
	Seed uint64 `json:"seed"`
	Plan string `json:"plan"`
	Left string `json:"left"`
	Odd  string `json:"odd,omitempty"`
	*Shown
}

// Report makes the report, and shows each new violation by the case that rapid came to. What nothing was shrunk for, because the same was left by
// other faults, is shown by the simplest case that was drawn.
func (run RandomRun) Report(ctx context.Context, m Minimiser, known []catalogue.Finding, base string) (RandomReport, error) {
	rep := RandomReport{Report: NewReport(run.Head, run.Results, known), Drawn: run.Drawn, Missed: run.Missed,
		Replay: "shimquake sweep --random --plans 1 --plan " + base + " --seed SEED"}
	rep.Report.Missed = nil // each is another: the draws have them
	for k := range rep.New {
		g := &rep.New[k]
		if i := run.shrunkFor(g); i >= 0 {
			spec := run.Head.Plan.Specs[i]
			c, err := spec.Case(run.Head.Plan.Containerd)
			d := run.Shrunk[i]
			if err == nil {
				err = m.ShowBy(ctx, c, g, fmt.Sprintf("Shrunk from the random plan of seed %d.", d.Seed))
			}
			if err != nil {
				return rep, err
			}
			rep.Shrunk = append(rep.Shrunk, Shrunk{d.Seed, spec.String(), signature(g.Left), d.Odd, g.Shown})
		} else if m.Replays > 0 {
			if err := m.Show(ctx, run.Head.Plan, g); err != nil {
				return rep, err
			}
		}
	}
	return rep, nil
}

// shrunkFor is the index of the plan that was shrunk for a finding, or -1.
func (run RandomRun) shrunkFor(g *Group) int {
	for _, i := range slices.Sorted(maps.Keys(run.Shrunk)) {
		if subset(g.Left, run.Shrunk[i].target) && slices.ContainsFunc(g.members, func(m member) bool { return m.spec == i }) {
			return i
		}
	}
	return -1
}

// Status is 1 for a new finding, 3 where no plan at all showed anything, 0 otherwise: plans with a fault that was not reached are to be expected.
func (r RandomReport) Status() int {
	switch {
	case len(r.New) > 0 || len(r.Gone()) > 0:
		return 1
	case r.Fired == 0:
		return 3
	}
	return 0
}

func (r RandomReport) String() string {
	var b strings.Builder
	b.WriteString(r.Report.String())
	fmt.Fprintf(&b, "%d of %d plans had a fault that was not reached, and show nothing\n", r.Missed, r.Drawn)
	for _, s := range r.Shrunk {
		fmt.Fprintf(&b, "seed %d shrinks to %s\n", s.Seed, s.Plan)
	}
	if len(r.Shrunk) > 0 {
		fmt.Fprintf(&b, "replay a seed: %s\n", r.Replay)
	}
	return b.String()
}
