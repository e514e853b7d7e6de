package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness/script"
)

// Trace has the hits of a workload: each execution of a point by a process.
type Trace struct {
	// Passes are the hits in the order of time, see History.Passes.
	Passes  []Pass
	Verdict Verdict
}

// Pass is a hit of a point, with all facts that a fault there needs.
type Pass struct {
	Point failpoints.Point
	// Path is the step of the client during the hit: create, start, exit or delete. It is
	// load while containerd starts.
	Path string
	// Step is the number of the script's step that began last, from 1. It is 0 before the
	// first, and that of a restart while containerd starts again.
	Step int
	// Call reports whether the hit is at the call inside a statement, and not at the
	// statement itself.
	Call bool
	// Callee is the called function, as package runtime names it.
	Callee string
	// Ctx is the owner that can end the context at a statement: probe.ByCaller,
	// probe.ByTimeout, or "".
	Ctx string
	// Nth counts, from 1, the hits of the point at which an action can happen: calls and
	// statements are counted apart. NthCancel counts the hits at which the context can be
	// cancelled, and NthDeadline those at which its deadline can pass. They are 0 if that is
	// impossible here.
	Nth, NthCancel, NthDeadline int
	// Ending is set after the last request to its process to exit. In another run, the
	// process may exit before it reaches the point.
	Ending bool
}

// Passes returns the hits of a history's processes in the order of time, from the start
// of containerd until the client was done. Hits of the oracle's own calls are counted,
// but left out. The run must be one of runner.Trace. In other runs, probes report only
// the methods and the statements near an armed statement.
func (h *History) Passes() ([]Pass, error) {
	hits := slices.DeleteFunc(slices.Clone(h.Hits), func(hit failpoints.Hit) bool { return hit.Time.After(h.Done) })
	slices.SortStableFunc(hits, func(a, b failpoints.Hit) int { return a.Time.Compare(b.Time) })
	phases, steps := h.phases(), h.stepStarts()
	type decision struct {
		at   failpoints.Point
		kind string
	}
	counts := map[decision]int{}
	var out []Pass
	asked := askedToExit(hits)
	for n, hit := range hits {
		at, err := failpoints.ParsePoint(hit.Point)
		if err != nil {
			return nil, fmt.Errorf("a process passed a point that this build does not know: %w", err)
		}
		last, ending := asked[hit.PID]
		p := Pass{Point: at, Path: phases.at(hit.Time), Step: steps.at(hit.Time), Call: hit.Call,
			Callee: hit.Callee, Ctx: hit.Ctx, Ending: ending && n > last}
		count := func(kind string) int {
			counts[decision{at, kind}]++
			return counts[decision{at, kind}]
		}
		if hit.Call {
			p.Nth = count("call")
		} else {
			p.Nth = count("statement")
		}
		if hit.Ctx == probe.ByCaller {
			p.NthCancel = count("cancel")
		}
		if hit.Ctx != "" {
			p.NthDeadline = count("deadline")
		}
		if p.Path != asking {
			out = append(out, p)
		}
	}
	return out, nil
}

// stepStarts has the time at which each step of the script began that makes a call.
type stepStarts []stepStart

type stepStart struct {
	from time.Time
	step int
}

func (h *History) stepStarts() (all stepStarts) {
	for _, c := range h.Calls {
		if c.Step > 0 {
			all = append(all, stepStart{c.At, c.Step})
		}
	}
	slices.SortStableFunc(all, func(a, b stepStart) int { return a.from.Compare(b.from) })
	return all
}

func (all stepStarts) at(t time.Time) (step int) {
	for _, s := range all {
		if s.from.After(t) {
			break
		}
		step = max(step, s.step)
	}
	return step
}

// askedToExit returns the index of the last Shutdown hit of each shim, by its pid.
func askedToExit(hits []failpoints.Hit) map[int]int {
	last := map[int]int{}
	for n, hit := range hits {
		if hit.Point == "rpc:shim:Task.Shutdown:entry" {
			last[hit.PID] = n
		}
	}
	return last
}

// Paths outside the client's calls.
const (
	asking = "asking" // the oracle looks
	load   = "load"   // containerd starts
)

// phases has the beginning of each phase of a run, in their order.
type phases []phase

type phase struct {
	from time.Time
	path string
}

func (ps phases) at(t time.Time) string {
	path := load
	for _, p := range ps {
		if p.from.After(t) {
			break
		}
		path = p.path
	}
	return path
}

// PathOf returns the path of a client's call: create, start, exit or delete. It returns
// "" for an unknown call.
func PathOf(verb string) string {
	path, _ := script.Called(verb)
	return path
}

// PathAt returns the path at a time: create, start, exit or delete during the client's
// calls, and load while containerd starts. It returns "" while the oracle looks.
func (h *History) PathAt(t time.Time) string {
	if path := h.phases().at(t); path != asking {
		return path
	}
	return ""
}

// phases derives the phases of the run from the client's calls. After its death
// containerd loads until it responds again.
func (h *History) phases() phases {
	var ps phases
	if !h.BeforeBegan.IsZero() {
		ps = append(ps, phase{h.BeforeBegan, asking})
	}
	calls := slices.Clone(h.Calls)
	slices.SortStableFunc(calls, func(a, b Call) int { return a.At.Compare(b.At) })
	for _, c := range calls {
		path := PathOf(c.Verb)
		if strings.Contains(c.Of, "/") { // a script's exec
			path = PathOf(script.Exec)
		}
		if path != "" {
			ps = append(ps, phase{c.At, path})
		}
	}
	return ps.loading(h.Deaths)
}

// loading inserts containerd's deaths. From its death until it responds containerd loads,
// and calls of the client in between do not count.
func (ps phases) loading(deaths []daemon.Death) phases {
	calls := slices.Clone(ps)
	for _, d := range deaths {
		back := d.At.Add(d.BackIn)
		ps = slices.DeleteFunc(
			ps,
			func(p phase) bool { return !p.from.Before(d.At) && (d.BackIn == 0 || p.from.Before(back)) },
		)
		ps = append(ps, phase{d.At, load})
		if d.BackIn > 0 {
			ps = append(ps, phase{back, cmp.Or(calls.at(back), load)})
		}
	}
	slices.SortStableFunc(ps, func(a, b phase) int { return a.from.Compare(b.from) })
	return ps
}
