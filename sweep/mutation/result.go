package mutation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Result says whether and how a sweep found a mutation. It is also the result of a sweep
// of the untouched source.
type Result struct {
	ID string
	// Plain is the verdict of a case that failed without a fault. A sweep ends after such
	// a case.
	Plain *harness.Verdict
	// New has the clusters that the catalogue does not know and that replays reproduce.
	New []triage.Cluster
	// Gone has the ids of known findings that the sweep covers and did not find.
	Gone []string
	// Cases is the number of cases that ran.
	Cases int
}

// Found reports whether the exit status of a nightly run would be 1.
func (r Result) Found() bool { return r.Plain != nil || len(r.New)+len(r.Gone) > 0 }

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
		for _, id := range r.Gone {
			names = append(names, id+" is gone")
		}
		return fmt.Sprintf("found    %-28s by %d cases: %s", r.ID, r.Cases, strings.Join(names, ", "))
	}
	return fmt.Sprintf("NOT FOUND %-27s by %d cases", r.ID, r.Cases)
}

// Test sweeps a mutation in its scope, as a nightly run does. It does not compare the
// findings with the untouched source: it ignores only the findings that the catalogue
// knows.
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
	if !swept.Cut {
		out.Gone = swept.Report.Gone()
	}
	return out, nil
}
