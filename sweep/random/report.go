package random

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Report is the report of random plans.
type Report struct {
	triage.Report
	// Drawn is the number of plans. NotReached is the number of plans with a fault that
	// was not reached.
	Drawn      int `json:"drawn"`
	NotReached int `json:"notReached"`
	// Replay is the command that runs the plan of a seed again.
	Replay string `json:"replay"`
	// Plan has the drawn plans as its cases, in the order of their seeds.
	Plan plan.Plan `json:"-"`
}

// NewReport makes the report of the draws. file has the plan base, from which they were
// drawn. NewReport minimises each new cluster to its simplest case.
func NewReport(ctx context.Context, draws []Draw, base plan.Plan, file string, m sweep.Minimiser,
	known []catalogue.Excuse) (Report, error) {
	p := plan.Plan{
		Containerd: base.Containerd, Version: base.Version, Subject: base.Subject, Places: base.Places,
		Options: "--random, from plan " + base.Digest,
	}
	var results []journal.Result
	rep := Report{
		Drawn:  len(draws),
		Replay: "shimquake sweep --random --plans 1 --plan " + file + " --seed SEED",
	}
	for _, d := range draws {
		p.Specs = append(p.Specs, d.Spec)
		results = append(results, d.Result)
		if d.Outcome == harness.Invalid {
			rep.NotReached++
		}
	}
	p = p.WithDigest()
	rep.Report = triage.NewReport(journal.Head{Plan: p}, results, known)
	rep.Plan = p
	rep.Missed = nil // the reasons differ from plan to plan; the draws have them
	m.Origin = func(i int) string { return fmt.Sprintf("Minimised from the random plan of seed %d.", draws[i].Seed) }
	err := m.ShowAll(ctx, p, &rep.Report)
	return rep, err
}

// Status returns 1 if a finding is new. It returns 3 if no plan at
// all had a result, and 0 otherwise. A plan with a fault that was not reached is normal.
func (r Report) Status() int {
	switch {
	case r.NeedAttention() > 0:
		return 1
	case r.Fired == 0:
		return 3
	}
	return 0
}

// JSON writes the report as JSON objects, one a line.
func (r Report) JSON(w io.Writer) error {
	if err := r.Report.JSON(w); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(r)
}

func (r Report) String() string {
	return fmt.Sprintf("%s%d of %d plans had a fault that was not reached, and have no result\nreplay a seed: %s\n",
		r.Report, r.NotReached, r.Drawn, r.Replay)
}
