package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
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
	*Shown
}

// Report makes the report, and shows each new violation by the case that rapid came to.
func (run RandomRun) Report(ctx context.Context, m Minimiser, known []catalogue.Finding, base string) (RandomReport, error) {
	rep := RandomReport{Report: NewReport(run.Head, run.Results, known), Drawn: run.Drawn, Missed: run.Missed,
		Replay: "shimquake sweep --random --plans 1 --plan " + base + " --seed SEED"}
	for _, i := range slices.Sorted(maps.Keys(run.Shrunk)) {
		spec := run.Head.Plan.Specs[i]
		for k := range rep.New {
			g := &rep.New[k]
			if g.Shown != nil || !slices.ContainsFunc(g.members, func(m member) bool { return m.spec == i }) {
				continue
			}
			c, err := spec.Case(run.Head.Plan.Containerd)
			if err == nil {
				err = m.ShowBy(ctx, c, g)
			}
			if err != nil {
				return rep, err
			}
			rep.Shrunk = append(rep.Shrunk, Shrunk{run.Shrunk[i], spec.String(), signature(g.Left), g.Shown})
		}
	}
	return rep, nil
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
		fmt.Fprintf(&b, "seed %d shrinks to %s\n", s.Seed, cmp.Or(s.Plan, "nothing"))
	}
	if len(r.Shrunk) > 0 {
		fmt.Fprintf(&b, "replay a seed: %s\n", r.Replay)
	}
	return b.String()
}

// Outcomes counts results by outcome.
func (run RandomRun) Outcomes() map[harness.Outcome]int {
	n := map[harness.Outcome]int{}
	for _, r := range run.Results {
		n[r.Outcome]++
	}
	return n
}
