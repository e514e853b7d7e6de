package compare

import (
	"context"
	"maps"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/triage"
)

// turn is a case that runs on both sides in turn.
type turn struct {
	spec int
	// The turn ends when the runs on this side show these findings. There are none if
	// several rows need the case.
	on   string
	left []triage.Signature
}

// next returns the further runs that the rows need: all of one row before the runs of the
// next. So some rows are decided when there is no time for all. The runs of one case
// overlap, because a case may wait for a time limit.
func next(rows []Row) (all []turn) {
	of, runs := map[int]int{}, map[int]int{} // the rows of a case, and its runs
	for _, r := range rows {
		for _, k := range r.next {
			of[k.Spec]++
		}
	}
	for _, r := range rows {
		for n := range r.times {
			for _, k := range r.next {
				if n < runs[k.Spec] {
					continue // an earlier row has the run
				}
				t := turn{k.Spec, other(r.On), r.Left}
				if of[k.Spec] > 1 {
					t.left = nil
				}
				all, runs[k.Spec] = append(all, t), n+1
			}
		}
	}
	return all
}

// Job is work of the engine. Done must be called when its results are added.
type Job struct {
	Do   func(*engine.Task) ([]journal.Result, error)
	Done func()
}

// Further are the further runs of a comparison.
type Further struct {
	of       Comparison
	todo     []turn
	known    int         // the number of results of which todo was made
	running  map[int]int // by case
	end      time.Time   // of Comparison.For
	progress *progress.Work
}

// Further returns the further runs that decide the rows of a comparison.
func (c Comparison) Further() *Further { return &Further{of: c, known: -1, running: map[int]int{}} }

// Next returns the next run of a case whose findings differ, on both sides in turn. There
// is none now if each row is decided, has had its runs, or waits for running ones.
func (f *Further) Next(ctx context.Context, results []journal.Result) (Job, bool) {
	if f.known != len(results) {
		f.todo, f.known = next(f.of.Rows(results)), len(results)
	}
	f.progress.SetRemaining(len(f.todo))
	if len(f.todo) > 0 && f.end.IsZero() {
		f.end = time.Now().Add(f.of.For)
	}
	if f.of.For > 0 && time.Now().After(f.end) {
		return Job{}, false
	}
	begun := maps.Clone(f.running)
	for _, t := range f.todo {
		if begun[t.spec]--; begun[t.spec] >= 0 {
			continue
		}
		if f.progress == nil {
			f.progress = progress.Begin(ctx, "further runs of findings that differ", len(f.todo), "cases")
		}
		f.running[t.spec]++
		return Job{
			Do: func(task *engine.Task) ([]journal.Result, error) { return f.of.turn(task, t) },
			Done: func() {
				f.running[t.spec]--
				f.progress.Step("")
			},
		}, true
	}
	return Job{}, false
}

// End ends the report of the progress.
func (f *Further) End() { f.progress.End() }

// turn runs a case in turn, first on the side that has not shown the findings.
func (c Comparison) turn(t *engine.Task, of turn) (ran []journal.Result, err error) {
	name := map[string]string{"A": c.A, "B": c.B}
	for _, on := range []string{of.on, other(of.on)} {
		r, err := c.run(t, of.spec, name[on])
		if err != nil {
			return nil, err
		}
		if ran = append(ran, r); r.Outcome == harness.Invalid || shows(of.left, r.Found) {
			break
		}
	}
	return ran, nil
}

// run runs a case on a containerd, again if its fault does not fire.
func (c Comparison) run(t *engine.Task, spec int, on string) (r journal.Result, err error) {
	of, err := c.Plan.Specs[spec].Case(on)
	for range maxTries {
		if err != nil {
			break
		}
		var v harness.Verdict
		if v, err = t.Run(of); err != nil {
			break
		}
		if r, err = journal.ResultOf(spec, v); err == nil {
			r.On, r.Evidence, err = on, "", r.Keep(v)
		}
		if r.Outcome != harness.Invalid {
			break
		}
	}
	return r, err
}
