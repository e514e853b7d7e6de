package random

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

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
	// Drawn plans, and of them those that had a fault which was not reached.
	Drawn      int `json:"drawn"`
	NotReached int `json:"notReached"`
	// Minimised are the simplest cases of new clusters, each with the seed that it came from.
	Minimised []Minimised `json:"minimised"`
	// Replay is how the seeds are replayed.
	Replay string `json:"replay"`
}

// Minimised is the simplest case of a new cluster.
type Minimised struct {
	Cluster string `json:"cluster"`
	Seed    uint64 `json:"seed"`
	*triage.Shown
}

// NewReport makes the report of draws from a base, which is also found in a file, and shows each
// new cluster by its simplest case.
func NewReport(ctx context.Context, draws []Draw, base plan.Plan, file string, m sweep.Minimiser,
	known []catalogue.Finding) (Report, error) {
	p := plan.Plan{
		Containerd: base.Containerd, Version: base.Version, Subject: base.Subject, Places: base.Places,
		Options: "--random, from plan " + base.Digest,
	}
	var results []journal.Result
	rep := Report{
		Drawn: len(draws), Minimised: []Minimised{},
		Replay: "shimquake sweep --random --plans 1 --plan " + file + " --seed SEED",
	}
	for _, d := range draws {
		p.Specs = append(p.Specs, d.Spec)
		results = append(results, d.Result)
		if d.Outcome == harness.Invalid {
			rep.NotReached++
		}
	}
	p = p.Sealed()
	rep.Report = triage.NewReport(journal.Head{Plan: p}, results, known)
	rep.Missed = nil // each is another: the draws have them
	m.Origin = func(i int) string { return fmt.Sprintf("Minimised from the random plan of seed %d.", draws[i].Seed) }
	if err := m.ShowAll(ctx, p, &rep.Report); err != nil {
		return rep, err
	}
	for _, c := range rep.New {
		if c.Shown != nil {
			rep.Minimised = append(rep.Minimised, Minimised{c.Name, draws[c.Shown.From].Seed, c.Shown})
		}
	}
	return rep, nil
}

// Status is 1 for a new cluster or a known finding that is gone, 3 where no plan at all showed
// anything, 0 otherwise: plans with a fault that was not reached are to be expected.
func (r Report) Status() int {
	switch {
	case len(r.New) > 0 || len(r.Gone()) > 0:
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
	var b strings.Builder
	b.WriteString(r.Report.String())
	fmt.Fprintf(&b, "%d of %d plans had a fault that was not reached, and show nothing\n", r.NotReached, r.Drawn)
	for _, s := range r.Minimised {
		fmt.Fprintf(&b, "%s was minimised from seed %d\n", s.Cluster, s.Seed)
	}
	if len(r.Minimised) > 0 {
		fmt.Fprintf(&b, "replay a seed: %s\n", r.Replay)
	}
	return b.String()
}
