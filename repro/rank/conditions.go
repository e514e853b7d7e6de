package rank

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/repro/read"
)

// weak are the conditions that a reporter mentions also if they do not matter.
var weak = []read.Kind{read.ClientGaveUp, read.StillRunning}

// conditions compares the reported conditions with the conditions that the bug's case
// needs.
func (f *Fit) conditions(r read.Report, b catalogue.Bug, l logs) {
	var needed []read.Kind
	if c, ok := b.Case(); ok {
		needed = NeededBy(c)
	}
	for _, w := range b.Takes {
		needed = append(needed, read.Kind(w))
	}
	restarts := slices.Contains(needed, read.ContainerdDied) || slices.Contains(needed, read.ContainerdStarted)
	done := map[read.Kind]bool{}
	for _, o := range r.BySort(read.Condition) {
		w := o.What
		if w == read.ContainerdStarted && r.Has(read.ContainerdDied) {
			continue // reported twice
		}
		switch {
		case done[w]:
		case w == read.ClientGaveUp && len(o.Made.Chain) > 0 && !l.explain(o):
			continue // another call
		case slices.Contains(needed, w):
			f.add(Needs, w, o.Lines, "")
		case restarts && (w == read.ContainerdStarted || w == read.ContainerdDied):
			f.add(Nearly, w, o.Lines, "")
		case !slices.Contains(weak, w):
			f.add(Unneeded, w, o.Lines, "")
		}
		done[w] = true
	}
	logged := len(r.BySort(read.Message))+len(r.BySort(read.Condition)) > 0
	for _, w := range needed { // a report without a log cannot mention it
		restarted := restarts && (done[read.ContainerdStarted] || done[read.ContainerdDied])
		if logged && !done[w] && !restarted {
			f.add(Unreported, w, nil, "")
		}
	}
	unneeded := slices.IndexFunc(f.Reasons, func(x Reason) bool { return x.Why == Unneeded && deaths(x.What) })
	if unneeded >= 0 && slices.ContainsFunc(f.Reasons, func(x Reason) bool { return x.Why == Unreported }) {
		f.add(Otherwise, f.Reasons[unneeded].What, f.Reasons[unneeded].Lines, "")
	}
}

// deaths reports whether a process died. A report of that is reliable.
func deaths(w read.Kind) bool {
	return w == read.ContainerdDied || w == read.ShimDied || w == read.PauseDied
}

// NeededBy returns the conditions on a node that correspond to a case's faults and steps.
func NeededBy(c harness.Case) (out []read.Kind) {
	add := func(w read.Kind) {
		if w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if c.Workload.Restarts() {
		add(read.ContainerdStarted)
	}
	for _, f := range c.Plan {
		for _, cl := range f.Do.Clauses() {
			add(neededByAction(f.At, cl))
		}
		for _, s := range f.Meanwhile {
			switch s.Verb + " " + s.Who {
			case "kill containerd":
				add(read.ContainerdDied)
			case "kill shim":
				add(read.ShimDied)
			case "kill sandbox":
				add(read.PauseDied)
			case "cancel call":
				add(read.ClientGaveUp)
			}
		}
	}
	return out
}

func neededByAction(at failpoints.Point, c term.Clause) read.Kind {
	switch c.Action {
	case term.Crash, term.Panic, term.Kill:
		return map[string]read.Kind{
			"containerd": read.ContainerdDied, "shim": read.ShimDied, "sandbox": read.PauseDied,
			"node": read.ContainerdStarted,
		}[at.Who]
	case term.Stop, term.Reboot:
		if at.Who == "node" {
			return read.HostShutdown
		}
	case term.Cancel, term.Deadline, term.Hang:
		return read.ClientGaveUp
	case term.Pressure:
		return read.SlowDisk
	case term.Delay:
		if at.Kind == failpoints.Sys {
			return read.SlowDisk
		}
	case term.Error, term.Lose:
		switch {
		case c.Arg == "ENOSPC":
			return read.FullDisk
		case c.Arg == "EMFILE":
			return read.NoDescriptors
		case at.Kind == failpoints.Stmt && strings.Contains(at.Where, ".nri."):
			return read.NRIRefused
		}
	}
	return ""
}
