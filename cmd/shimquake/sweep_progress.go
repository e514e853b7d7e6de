package main

import (
	"fmt"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// sweepProgress is a bar on the terminal's stderr with rate, time left and what was found
// so far; elsewhere it is quiet.
type sweepProgress struct {
	bar  *progressbar.ProgressBar
	kind map[string]bool // what was found so far, by kind
	n    map[harness.Outcome]int
}

func newSweepProgress(s sweep.Schedule) *sweepProgress {
	p := &sweepProgress{kind: map[string]bool{}, n: map[harness.Outcome]int{}}
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return p
	}
	left := 0
	for i := range s.Head.Plan.Specs {
		if s.Head.Shard.Has(i) {
			left++
		}
	}
	p.bar = progressbar.NewOptions(left-len(s.Done), progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("cases"),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24))
	return p
}

// clear takes the bar away before something else is printed. What a terminal refuses is
// no failure of the sweep.
func (p *sweepProgress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func (p *sweepProgress) step(s plan.Spec, r journal.Result) {
	if p.bar == nil {
		return
	}
	p.n[r.Outcome]++
	if r.Outcome == harness.Violated {
		p.kind[triage.Kind(s, r)] = true
	}
	p.bar.Describe(fmt.Sprintf("%d violated (%d kinds), %d invalid",
		p.n[harness.Violated], len(p.kind), p.n[harness.Invalid]))
	_ = p.bar.Add(1)
}
