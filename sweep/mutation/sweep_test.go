package mutation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Tester sweeps mutated sources.
type Tester struct {
	Runner *runner.Runner
	// Out is the folder for the journals, with one folder for each sweep. A new test
	// removes the files of an earlier one.
	Out string
	// Parallel is how many worlds run concurrently. Default: 6.
	Parallel int
	// Enough is the number of cases with unknown findings after which the sweep of a
	// mutation ends. A whole sweep would take long, because each case of a broken
	// containerd can wait for a minute. Default: 5.
	Enough int
}

// replays is the number of runs of a new cluster's case, as in `shimquake sweep`.
const replays = 20

// Swept is the result of a sweep of a source.
type Swept struct {
	// Plain is the verdict of a case or a workload that failed without a fault. The sweep
	// ends after such a case.
	Plain  *harness.Verdict
	Report triage.Report
	// Cut is set if the sweep ended early, after enough findings.
	Cut bool
}

func (s Scope) String() string {
	var parts []string
	for _, words := range [][]string{s.Workloads, s.Who, s.Paths, s.Actions} {
		parts = append(parts, strings.Join(words, "+"))
	}
	if s.Points != "" {
		parts = append(parts, s.Points)
	}
	if s.Hits != "" {
		parts = append(parts, s.Hits)
	}
	return strings.Join(parts, "-")
}

func (s Scope) options() plan.Options {
	return plan.Options{Workloads: s.Workloads, Who: s.Who, Paths: s.Paths, Actions: s.Actions, Hits: s.Hits}
}

// Covers reports whether this sweep includes the other one.
func (s Scope) Covers(other Scope) bool {
	all := func(words, of []string) bool {
		return !slices.ContainsFunc(of, func(w string) bool { return !slices.Contains(words, w) })
	}
	return all(s.Workloads, other.Workloads) && all(s.Who, other.Who) && all(s.Paths, other.Paths) &&
		all(s.Actions, other.Actions) && (s.Points == "" || s.Points == other.Points) &&
		s.Hits == other.Hits
}

// Sweep sweeps the source with a mutation in it, until it has found enough.
func (t *Tester) Sweep(ctx context.Context, m Mutation, s Scope) (Swept, error) {
	swept, err := t.sweep(ctx, m, s)
	if err != nil {
		return swept, fmt.Errorf("sweep %s (%s): %w", m.ID, s, err)
	}
	return swept, nil
}

func (t *Tester) sweep(ctx context.Context, m Mutation, s Scope) (Swept, error) {
	dir, err := Tree(ctx, m)
	if err != nil {
		return Swept{}, err
	}
	o := s.options()
	o.Containerd = "src:" + dir
	if s.Points != "" {
		if o.Points, err = regexp.Compile(s.Points); err != nil {
			return Swept{}, err
		}
	}
	if err := t.Runner.Prepare(ctx, o.Containerd); err != nil {
		return Swept{}, err
	}
	e := engine.New(t.Runner, cmp.Or(t.Parallel, worlds))
	_, err = plan.CheckPlain(ctx, e, o, nil)
	var p plan.Plan
	if err == nil {
		p, err = plan.Make(ctx, e, o)
	}
	var trace *plan.TraceError
	if errors.As(err, &trace) {
		return Swept{Plain: &trace.Verdict}, nil
	}
	out := filepath.Join(t.Out, folderName(m.ID+"-"+s.String()))
	if err := errors.Join(err, os.RemoveAll(out)); err != nil {
		return Swept{}, err
	}
	head := journal.Head{Plan: p, Shard: plan.Shard{I: 1, Of: 1}}
	j, err := journal.Create(out, head)
	if err != nil {
		return Swept{}, err
	}
	until, end := context.WithCancel(ctx)
	defer end()
	fresh := 0
	schedule := sweep.Schedule{
		Engine: e, Head: head, Journal: j,
		OnResult: func(r journal.Result) {
			if alone := triage.NewReport(head, []journal.Result{r}, catalogue.Excuses()); len(alone.New) > 0 {
				if fresh++; fresh >= cmp.Or(t.Enough, 5) && m.ID != Untouched.ID {
					end()
				}
			}
		},
	}
	results, err := schedule.Run(until)
	var swept Swept
	if errors.Is(err, engine.ErrInterrupted) && ctx.Err() == nil {
		swept.Cut, err = true, nil
	}
	if err == nil && !swept.Cut {
		results, err = schedule.Explain(ctx, catalogue.Excuses(), results, t.Runner.Prepare)
	}
	swept.Report = triage.NewReport(head, results, catalogue.Excuses(), sweep.Causes(head, results)...)
	if err := errors.Join(err, j.Close()); err != nil {
		return Swept{}, err
	}
	if !swept.Cut {
		show := &sweep.Minimiser{Engine: e, Out: out, Replays: replays, Once: m.ID != Untouched.ID}
		if err := show.ShowAll(ctx, p, &swept.Report); err != nil {
			return Swept{}, err
		}
	}
	return swept, os.WriteFile(filepath.Join(out, "report.txt"), []byte(swept.Report.String()), 0o644)
}

// folderName removes the characters that a file name in a Go module cannot have, because
// the results are in a folder of the checkout.
func folderName(of string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`"'*<>?`+"`"+`|/\\:^$`, r) {
			return '_'
		}
		return r
	}, of)
}

// Result says whether and how a sweep found a mutation. It is also the result of a sweep
// of the untouched source.
type Result struct {
	ID string
	// Plain is the verdict of a case that failed without a fault. A sweep ends after such
	// a case.
	Plain *harness.Verdict
	// New has the clusters that the catalogue does not know and that replays reproduce.
	New []triage.Cluster
	// Cases is the number of cases that ran.
	Cases int
}

// Found reports whether the exit status of a nightly run would be 1.
func (r Result) Found() bool { return r.Plain != nil || len(r.New) > 0 }

// String returns a line for a table.
func (r Result) String() string {
	switch {
	case r.Plain != nil:
		return fmt.Sprintf("found    %-28s without a fault", r.ID)
	case r.Found():
		names := make([]string, len(r.New))
		for i, c := range r.New {
			names[i] = fmt.Sprintf("%s (%d)", c.Name, c.Cases)
		}
		return fmt.Sprintf("found    %-28s by %d cases: %s", r.ID, r.Cases, strings.Join(names, ", "))
	}
	return fmt.Sprintf("NOT FOUND %-27s by %d cases", r.ID, r.Cases)
}

// Test sweeps a mutation in its scope, as a nightly run does. A finding is new if the
// catalogue does not know it, or if the base release does not show it.
func (t *Tester) Test(ctx context.Context, m Mutation) (Result, error) {
	return t.test(ctx, m, m.Sweep)
}

// Untouched sweeps the unmodified source of Release.
func (t *Tester) Untouched(ctx context.Context, s Scope) (Result, error) {
	return t.test(ctx, Untouched, s)
}

func (t *Tester) test(ctx context.Context, m Mutation, s Scope) (Result, error) {
	out := Result{ID: m.ID}
	swept, err := t.Sweep(ctx, m, s)
	if err != nil {
		return out, err
	}
	if out.Plain = swept.Plain; out.Plain != nil {
		return out, nil
	}
	out.Cases = swept.Report.Executed
	out.New = slices.DeleteFunc(swept.Report.New, func(c triage.Cluster) bool { return !c.Reproduced() })
	return out, nil
}
