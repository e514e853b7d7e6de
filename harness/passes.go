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
)

// Trace is what a workload passes on its way.
type Trace struct {
	// Passes are in the order of time, see History.Passes.
	Passes  []Pass
	Verdict Verdict
}

// Pass is one passing of a point.
type Pass struct {
	Point failpoints.Point
	// Path is what was going on: create, start, exit or delete, by the client's call; load
	// while containerd starts.
	Path string
	// Call reports whether the call in a statement was passed, and not the statement itself.
	Call bool
	// Callee is the function that a call is of, as package runtime names it.
	Callee string
	// Ctx is who can end the context at a statement: probe.ByCaller, probe.ByTimeout, or
	// nobody.
	Ctx string
	// Nth counts, from 1, the passings of the point at which an action is decided: of calls
	// those of the call, of statements those of the statement. NthCancel and NthDeadline
	// count those at which the context can be cancelled, or its deadline can pass; 0 where
	// it cannot.
	Nth, NthCancel, NthDeadline int
	// Ending is set where its process had been asked for the last time to exit, and may do
	// so before it comes here.
	Ending bool
}

// Passes are what a history's processes have passed, in the order of time, from the start
// of containerd until the client was done. What the oracle's own questions pass is not
// among them, but it is counted. The run must have traced (runner.Trace): otherwise only
// methods and the statements near an armed one are known.
func (h *History) Passes() ([]Pass, error) {
	hits := slices.DeleteFunc(slices.Clone(h.Hits), func(hit failpoints.Hit) bool { return hit.Time.After(h.Done) })
	slices.SortStableFunc(hits, func(a, b failpoints.Hit) int { return a.Time.Compare(b.Time) })
	phases := h.phases()
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
			return nil, fmt.Errorf("a process passed a point of another name than this build knows: %w", err)
		}
		last, ending := asked[hit.PID]
		p := Pass{Point: at, Path: phases.at(hit.Time), Call: hit.Call, Callee: hit.Callee, Ctx: hit.Ctx,
			Ending: ending && n > last}
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

// askedToExit are the last hits of Shutdown, by the pids of the shims.
func askedToExit(hits []failpoints.Hit) map[int]int {
	last := map[int]int{}
	for n, hit := range hits {
		if hit.Point == "rpc:shim:Task.Shutdown:entry" {
			last[hit.PID] = n
		}
	}
	return last
}

// The path of what nobody's workload does, the oracle's looks before and meanwhile, and
// that of a containerd that starts.
const (
	asking = "asking"
	load   = "load"
)

// phases are the beginnings of what goes on, in their order.
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

// paths are what the client's calls are to their container. What is done to one that runs
// is on its way to the exit, an exec from its beginning to its end, too: what befalls the
// container meanwhile is what befalls one that waits for its end.
var paths = map[string]string{
	"create": "create", "RunPodSandbox": "create", "CreateContainer": "create",
	"start": "start", "StartContainer": "start",
	"new": "create", "end": "exit", "add": "exit",
	"kill": "exit", "pause": "exit", "resume": "exit", "close-io": "exit",
	"exec": "exit", "ExecSync": "exit",
	"Exec": "exit", "Attach": "exit",
	"wait": "exit", "StopContainer": "exit", "await": "exit",
	"delete": "delete", "remove": "delete",
	"StopPodSandbox": "delete", "RemoveContainer": "delete",
	"RemovePodSandbox": "delete", "ListPodSandbox": "delete", "ListContainers": "delete",
	"look": asking,
}

// PathOf is what a client is at in a call, of its container: create, start, exit, delete;
// "" where that is not known.
func PathOf(verb string) string { return paths[verb] }

// PathAt is what was going on at a time: create, start, exit or delete, by the client's
// call; load while containerd starts. It is "" while the oracle asks.
func (h *History) PathAt(t time.Time) string {
	if path := h.phases().at(t); path != asking {
		return path
	}
	return ""
}

// phases learns from the client's calls what was going on when. A containerd that has
// ended loads until it answers again.
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
			path = PathOf("exec")
		}
		if path != "" {
			ps = append(ps, phase{c.At, path})
		}
	}
	return ps.loading(h.Deaths)
}

// loading puts containerd's deaths among the client's calls. From its death until it
// answers containerd loads, whatever the client tries meanwhile.
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
