package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
)

// Trace is what a workload passes on its way.
type Trace struct {
	// Passes are in the order in which they happened, from the start of containerd until the client is done. What the oracle's own questions pass is
	// not among them, but it is counted.
	Passes  []Pass
	Verdict Verdict
}

// Pass is one passing of a point.
type Pass struct {
	Point failpoints.Point
	// Path is what was going on: create, start, exit or delete, by the client's call; load while containerd starts.
	Path string
	// Call is whether it is the call in a statement that was passed, and not the statement itself.
	Call bool
	// Ctx is who can end the context at a statement: probe.ByCaller, probe.ByTimeout, or nobody.
	Ctx string
	// Nth counts, from 1, the passings of the point at which an action is decided: of calls those of the call, of statements those of the statement.
	// NthCancel and NthDeadline count those at which the context can be cancelled, or its deadline can pass; 0 where it cannot.
	Nth, NthCancel, NthDeadline int
}

// Trace runs a case and tells what points it passes. Its error says why the case could not be run; a verdict that is not held is no error.
func (r *Runner) Trace(ctx context.Context, c Case) (Trace, error) {
	x := r.experiment(ctx, c)
	x.trace = &Trace{}
	x.trace.Verdict = r.run(ctx, x)
	if x.trace.Verdict.Outcome == Invalid {
		return *x.trace, fmt.Errorf("trace %s: %s", c.Name, x.trace.Verdict.Why)
	}
	return *x.trace, nil
}

// traced takes the passes, when the client is done.
func (x *experiment) traced() {
	if x.trace == nil {
		return
	}
	hits := x.controller.Hits()
	slices.SortStableFunc(hits, func(a, b failpoints.Hit) int { return a.Time.Compare(b.Time) })
	phases := x.phases()
	type decision struct {
		at   failpoints.Point
		kind string
	}
	counts := map[decision]int{}
	for _, h := range hits {
		at, err := failpoints.ParsePoint(h.Point)
		if err != nil {
			x.invalid(err)
			continue
		}
		p := Pass{Point: at, Path: phases.at(h.Time), Call: h.Call, Ctx: h.Ctx}
		count := func(kind string) int {
			counts[decision{at, kind}]++
			return counts[decision{at, kind}]
		}
		if h.Call {
			p.Nth = count("call")
		} else {
			p.Nth = count("statement")
		}
		if h.Ctx == probe.ByCaller {
			p.NthCancel = count("cancel")
		}
		if h.Ctx != "" {
			p.NthDeadline = count("deadline")
		}
		if p.Path != asking {
			x.trace.Passes = append(x.trace.Passes, p)
		}
	}
}

// asking is the path of what nobody's workload does: the oracle's look at the world before.
const asking = "asking"

// phases are the beginnings of what goes on, in their order.
type phases []phase

type phase struct {
	from time.Time
	path string
}

func (ps phases) at(t time.Time) string {
	path := "load"
	for _, p := range ps {
		if p.from.After(t) {
			break
		}
		path = p.path
	}
	return path
}

// paths are the client's calls, by the first word of what the timeline says of them.
var paths = map[string]string{
	"create": "create", "RunPodSandbox": "create", "CreateContainer": "create",
	"start": "start", "StartContainer": "start",
	"kill": "exit", "wait": "exit", "StopContainer": "exit", "await": "exit",
	"delete": "delete", "remove": "delete", "StopPodSandbox": "delete", "RemoveContainer": "delete", "RemovePodSandbox": "delete", "ListPodSandbox": "delete",
}

// phases learns from the timeline what was going on when. A containerd that has ended loads until it answers again.
func (x *experiment) phases() phases {
	var ps phases
	for _, e := range x.timeline.sorted() {
		word, _, _ := strings.Cut(e.What, " ")
		if path := paths[word]; e.Who == "client" && path != "" {
			ps = append(ps, phase{e.At, path})
		}
		if e.Who == "oracle" && len(ps) == 0 {
			ps = append(ps, phase{e.At, asking})
		}
	}
	return ps.loading(x.daemon.Deaths())
}

// loading puts containerd's deaths among the client's calls. From its death until it answers containerd loads, whatever the client tries meanwhile.
func (ps phases) loading(deaths []daemon.Death) phases {
	calls := slices.Clone(ps)
	for _, d := range deaths {
		back := d.At.Add(d.BackIn)
		ps = slices.DeleteFunc(ps, func(p phase) bool { return !p.from.Before(d.At) && (d.BackIn == 0 || p.from.Before(back)) })
		ps = append(ps, phase{d.At, "load"})
		if d.BackIn > 0 {
			ps = append(ps, phase{back, cmp.Or(calls.at(back), "load")})
		}
	}
	slices.SortStableFunc(ps, func(a, b phase) int { return a.from.Compare(b.from) })
	return ps
}
