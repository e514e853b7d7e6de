package compare

import (
	"context"
	"maps"
	"slices"

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

// next returns the further runs that the rows need. The runs of one case overlap, because
// a case may wait for a time limit.
func next(rows []Row) (all []turn) {
	type runs struct {
		turn
		times int
	}
	by := map[int]runs{}
	for _, r := range rows {
		for _, k := range r.next {
			t := runs{turn{k.Spec, other(r.On), r.Left}, r.times}
			if has, ok := by[k.Spec]; ok {
				t = runs{turn{k.Spec, t.on, nil}, max(has.times, r.times)}
			}
			by[k.Spec] = t
		}
	}
	for _, spec := range slices.Sorted(maps.Keys(by)) {
		all = append(all, slices.Repeat([]turn{by[spec].turn}, by[spec].times)...)
	}
	return all
}

// Run runs the cases of rows that differ, on both sides in turn, until each row is
// decided or has had its runs. It calls add with each result, one at a time, and returns
// all results, old and new.
func (c Comparison) Run(ctx context.Context, e *engine.Engine, results []journal.Result,
	add func(*journal.Result) error) ([]journal.Result, error) {
	w := progress.Begin(ctx, "further runs of findings that differ", 0, "cases")
	defer w.End()
	running := map[int]int{} // by case
	todo, known := []turn(nil), -1
	more := func() (turn, bool) {
		if known != len(results) {
			todo, known = next(c.Rows(results)), len(results)
		}
		w.SetRemaining(len(todo))
		begun := maps.Clone(running)
		for _, t := range todo {
			if begun[t.spec]--; begun[t.spec] < 0 {
				running[t.spec]++
				return t, true
			}
		}
		return turn{}, false
	}
	err := engine.Follow(ctx, e, more, c.turn, func(_ *engine.Task, ran []journal.Result) error {
		w.Step("")
		running[ran[0].I]--
		for _, r := range ran {
			if err := add(&r); err != nil {
				return err
			}
			results = append(results, r)
		}
		return nil
	})
	return results, err
}

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
