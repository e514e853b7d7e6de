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
	// Hits are the hits in the order of time, see History.TracedHits.
	Hits    []TracedHit
	Verdict Verdict
}

// TracedHit is a hit of a point, with all facts that a fault there needs.
type TracedHit struct {
	Point failpoints.Point
	// Path is the step of the client during the hit: create, start, exit or delete. It is
	// load while containerd starts. It is exit, too, after the exit of all payloads, which
	// may exit before the response to Start.
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

// TracedHits returns the hits of a history's processes in the order of time, from the
// start of containerd until the client was done. Hits of the oracle's own calls are
// counted, but left out. The run must be one of runner.Trace. In other runs, probes
// report only the methods and the statements near an armed statement.
func (h *History) TracedHits() ([]TracedHit, error) {
	hits := slices.DeleteFunc(slices.Clone(h.Hits), func(hit failpoints.Hit) bool { return hit.Time.After(h.Done) })
	slices.SortStableFunc(hits, func(a, b failpoints.Hit) int { return a.Time.Compare(b.Time) })
	phases, steps, exited := h.phases(), h.steps(), h.exited()
	type decision struct {
		at   failpoints.Point
		kind string
	}
	counts := map[decision]int{}
	var out []TracedHit
	asked := h.askedToExit(hits)
	for _, hit := range hits {
		point, err := failpoints.ParsePoint(hit.Point)
		if err != nil {
			return nil, fmt.Errorf("a process passed a point that this build does not know: %w", err)
		}
		from, ending := asked[hit.PID]
		p := TracedHit{Point: point, Path: at(phases, hit.Time, load), Step: at(steps, hit.Time, 0), Call: hit.Call,
			Callee: hit.Callee, Ctx: hit.Ctx, Ending: ending && hit.Time.After(from)}
		count := func(kind string) int {
			counts[decision{point, kind}]++
			return counts[decision{point, kind}]
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
		if p.Path == "start" && hit.Time.After(exited) {
			p.Path = "exit"
		}
		if p.Path != asking {
			out = append(out, p)
		}
	}
	return out, nil
}

// since is a value that holds from a time on.
type since[T any] struct {
	from  time.Time
	value T
}

// at returns the last value that holds at a time, or first if none does by then. The
// values are in the order of time.
func at[T any](all []since[T], t time.Time, first T) T {
	n, _ := slices.BinarySearchFunc(all, t, func(s since[T], t time.Time) int {
		if s.from.After(t) {
			return 1
		}
		return -1
	})
	if n == 0 {
		return first
	}
	return all[n-1].value
}

func ordered[T any](all []since[T]) []since[T] {
	slices.SortStableFunc(all, func(a, b since[T]) int { return a.from.Compare(b.from) })
	return all
}

// steps returns the last step of the script that had begun, from the beginning of each
// call.
func (h *History) steps() (all []since[int]) {
	for _, c := range h.Calls {
		if c.Step > 0 {
			all = append(all, since[int]{c.At, c.Step})
		}
	}
	all = ordered(all)
	for i := 1; i < len(all); i++ { // a step beside others may begin after a later one
		all[i].value = max(all[i].value, all[i-1].value)
	}
	return all
}

// exited returns the time of the last payload's exit, or the end of the run if some
// payload did not exit by itself.
func (h *History) exited() time.Time {
	last := time.Time{}
	for _, i := range h.Instances {
		if !i.Payload.Exited {
			return h.Done
		}
		if i.Payload.ExitedAt.After(last) {
			last = i.Payload.ExitedAt
		}
	}
	if last.IsZero() {
		return h.Done
	}
	return last
}

// askedToExit returns when each process was asked to exit, by its pid: a shim by its last
// Shutdown, and containerd by a restart.
func (h *History) askedToExit(hits []failpoints.Hit) map[int]time.Time {
	at := map[int]time.Time{}
	for _, hit := range hits {
		if hit.Point == "rpc:shim:Task.Shutdown:entry" {
			at[hit.PID] = hit.Time
		}
	}
	for _, d := range h.Deaths {
		if d.Asked {
			at[d.PID] = d.At.Add(-d.After)
		}
	}
	return at
}

// Paths outside the client's calls.
const (
	asking = "asking" // the oracle looks
	load   = "load"   // containerd starts
)

// PathOf returns the path of a client's call: create, start, exit or delete. It returns
// "" for an unknown call.
func PathOf(verb string) string {
	path, _ := script.Called(verb)
	return path
}

// PathAt returns the path at a time: create, start, exit or delete during the client's
// calls, and load while containerd starts. It returns "" while the oracle looks.
func (h *History) PathAt(t time.Time) string {
	if path := at(h.phases(), t, load); path != asking {
		return path
	}
	return ""
}

// phases derives the paths of the run from the client's calls. After its death containerd
// loads until it responds again.
func (h *History) phases() []since[string] {
	var ps []since[string]
	if !h.BeforeBegan.IsZero() {
		ps = append(ps, since[string]{h.BeforeBegan, asking})
	}
	calls := slices.Clone(h.Calls)
	slices.SortStableFunc(calls, func(a, b Call) int { return a.At.Compare(b.At) })
	for _, c := range calls {
		path := PathOf(c.Verb)
		if strings.Contains(c.Of, "/") { // a script's exec
			path = PathOf(script.Exec)
		}
		if path != "" {
			ps = append(ps, since[string]{c.At, path})
		}
	}
	return loading(ps, h.Deaths)
}

// loading inserts containerd's deaths. From its death until it responds containerd loads,
// and calls of the client in between do not count.
func loading(ps []since[string], deaths []daemon.Death) []since[string] {
	calls := slices.Clone(ps)
	for _, d := range deaths {
		back := d.At.Add(d.BackIn)
		ps = slices.DeleteFunc(ps, func(p since[string]) bool {
			return !p.from.Before(d.At) && (d.BackIn == 0 || p.from.Before(back))
		})
		ps = append(ps, since[string]{d.At, load})
		if d.BackIn > 0 {
			ps = append(ps, since[string]{back, cmp.Or(at(calls, back, load), load)})
		}
	}
	return ordered(ps)
}
