package sweep

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Live runs a sweep. While its cases run, it explains the findings and minimises the new
// ones.
type Live struct {
	*Schedule
	Known []catalogue.Excuse
	// Prepare builds a containerd that explains findings. If it is nil, no case runs on
	// another containerd.
	Prepare func(context.Context, string) error
	// Causes returns the causes of the findings so far.
	Causes func(journal.Head, []journal.Result) []triage.Cause
	// Minimiser, if not nil, minimises the new clusters.
	Minimiser *Minimiser
	// OnCluster is called when a new cluster is first seen, and again when its case is
	// minimised. It is not called at the same time as OnResult.
	OnCluster func(triage.Cluster)
	// OnEnd is called after the last case.
	OnEnd func()

	mu      sync.Mutex
	sofar   Schedule         // at the last result
	own     []journal.Result // by Schedule
	further []journal.Result // by Explain
	seen    []triage.Cluster
}

// Run runs the sweep, and returns all results with the further runs that explain them.
func (l *Live) Run(ctx context.Context) ([]journal.Result, error) {
	violated := make(chan struct{}, 1) // closed after the last result
	l.sofar, l.own = *l.Schedule, slices.Clone(l.Done)
	tell := l.OnResult
	l.OnResult = func(r journal.Result) {
		l.mu.Lock()
		defer l.mu.Unlock()
		tell(r)
		if l.sofar, l.own = *l.Schedule, append(l.own, r); r.Outcome == harness.Violated {
			select {
			case violated <- struct{}{}:
			default: // the result before it was not looked at yet
			}
		}
	}
	all, ctx := errgroup.WithContext(ctx)
	var rest *progress.Work // to minimise
	all.Go(func() error {
		defer close(violated)
		_, err := l.Schedule.Run(ctx)
		l.OnEnd()
		return err
	})
	all.Go(func() error {
		for range violated {
			if err := l.look(progress.Beside(ctx), all); err != nil {
				return err
			}
		}
		err := l.look(ctx, all)
		rest = progress.Begin(ctx, "replays of new clusters", 0, "")
		return err
	})
	err := all.Wait()
	rest.End()
	return append(l.own, l.further...), err
}

// look explains the findings so far. It begins to minimise the new ones.
func (l *Live) look(ctx context.Context, all *errgroup.Group) (err error) {
	l.mu.Lock()
	s, own := l.sofar, len(l.own)
	results := slices.Concat(l.own, l.further)
	l.mu.Unlock()
	if l.Prepare != nil {
		causes := l.Causes(s.Head, results)
		// These may be known by a fix, or by all together.
		may := triage.StillWithAFix(s.Head.Plan, l.Known, results, causes)
		for _, cases := range triage.Closable(s.Head.Plan, l.Known, results, causes) {
			may = append(may, cases...)
		}
		l.begin(ctx, all, s.Head, results, causes, may)
		results, err = s.Explain(ctx, l.Known, results, l.Prepare)
		if l.further = results[own:]; err != nil {
			return err
		}
	}
	l.begin(ctx, all, s.Head, results, l.Causes(s.Head, results), nil)
	return nil
}

// begin begins to minimise each cluster that was not seen before, and that none of these
// cases shows.
func (l *Live) begin(ctx context.Context, all *errgroup.Group, h journal.Head, results []journal.Result,
	causes []triage.Cause, without []int) {
	for _, c := range triage.NewReport(h, results, l.Known, causes...).New {
		if slices.ContainsFunc(l.seen, c.Continues) ||
			slices.ContainsFunc(c.Specs(h.Plan), func(i int) bool { return slices.Contains(without, i) }) {
			continue
		}
		l.seen = append(l.seen, c)
		l.tell(c)
		all.Go(func() error { return l.minimise(ctx, h.Plan, c) })
	}
}

func (l *Live) minimise(ctx context.Context, p plan.Plan, c triage.Cluster) error {
	if l.Minimiser == nil {
		return nil
	}
	err := l.Minimiser.show(ctx, p, &c)
	if err == nil && c.Shown != nil {
		l.tell(c)
	}
	return err
}

func (l *Live) tell(c triage.Cluster) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.OnCluster(c)
}
