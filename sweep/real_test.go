package sweep

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/pairs"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// hasty is a runner that waits only one second for leftovers to vanish, and not six.
// The leaks of this test are permanent.
type hasty struct{ *runner.Runner }

func (h hasty) Run(ctx context.Context, c harness.Case) harness.Verdict {
	c.Workload.Settle = time.Second
	return h.Runner.Run(ctx, c)
}

// worlds is the number of concurrent worlds.
const worlds = 6

// swept runs a real sweep.
func swept(t *testing.T, o plan.Options) (plan.Plan, triage.Report) {
	t.Helper()
	return sweptPlan(t, func(ctx context.Context, e *engine.Engine) (plan.Plan, error) {
		return plan.Make(ctx, e, o)
	}, o.Containerd)
}

// prepared returns a runner that can run a subject.
func prepared(t *testing.T, containerd string) *runner.Runner {
	t.Helper()
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: t.TempDir() + "/evidence", Brief: true}
	if err := r.Prepare(t.Context(), containerd); err != nil {
		if runner.IsUnsupported(err) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return r
}

// sweptPlan makes a plan and runs it.
func sweptPlan(t *testing.T, making func(context.Context, *engine.Engine) (plan.Plan, error),
	containerd string) (plan.Plan, triage.Report) {
	t.Helper()
	dir, r := t.TempDir(), prepared(t, containerd)
	p := must.Get(making(t.Context(), engine.New(r, worlds)))(t)
	h := journal.Head{Plan: p, Shard: whole}
	j := must.Get(journal.Create(dir, h))(t)
	must.Get((&Schedule{Engine: engine.New(hasty{r}, worlds), Head: h, Journal: j}).Run(t.Context()))(t)
	must.Succeed(t, j.Close())
	h, results, err := journal.Read(dir)
	must.Succeed(t, err)
	return p, triage.NewReport(h, results, catalogue.Excuses())
}

func TestTheDeletePathOfTheNewestRelease(t *testing.T) {
	p, r := swept(t, plan.Options{
		Who: []string{"shim"}, Actions: []string{"error"}, Paths: []string{"delete"}, Workloads: []string{"task"},
		Points: regexp.MustCompile("^rpc:.*Task"),
	})
	if r.Planned < 4 || r.Executed != r.Planned || r.Fired != r.Planned || r.Planned != len(p.Specs) {
		t.Errorf("not all of it was run:\n%s", r)
	}
	for _, c := range r.New {
		if c.Left[0].Class == finding.ClassShim {
			t.Errorf("its delete path leaks no shim when a method fails once:\n%s", r)
		}
	}
}

// The control: containerd up to 2.3 ignores the error of Shutdown (containerd#8981), and
// a sweep must find it.
func TestALeakedShimIsFound(t *testing.T) {
	_, r := swept(t, plan.Options{
		Containerd: "v2.3.7", Who: []string{"shim"}, Actions: []string{"error"}, Workloads: []string{"task"},
		Points: regexp.MustCompile("^rpc:shim:Task.Shutdown:entry$"),
	})
	if len(r.New) != 1 || r.New[0].Left[0].Class != finding.ClassShim || r.Status() != 1 {
		t.Fatalf("one leaked shim must be found:\n%s", r)
	}
	w := r.New[0].Windows[0]
	named := strings.Contains(r.String(), "NEW: shim-shim-task.shutdown")
	if w.Who != "shim" || w.Function != "Task.Shutdown" || !named {
		t.Errorf("%+v\n%s", w, r)
	}
}

// The control of typed errors: a bare error, and an error about a missing shim, leave
// nothing. NotFound leaves a shim.
func TestNotFoundIsTakenForSuccess(t *testing.T) {
	p, r := swept(t, plan.Options{
		Who: []string{"daemon"}, Actions: []string{"error", plan.Code}, Workloads: []string{"task"},
		Points: regexp.MustCompile("^rpc:containerd:Task.Delete:entry$"),
	})
	if len(p.Specs) != 3 || r.Fired != 3 || r.Violated != 1 || len(r.New) != 1 {
		t.Fatalf("error(x), NotFound and Unavailable, one of which leaks a shim:\n%s", r)
	}
	// Only the runs with its fix, which swept does not make, say that it is known.
	if c := r.New[0]; c.Cases != 1 || c.Actions[plan.Code] != 1 {
		t.Errorf("%d cases, by %v", c.Cases, c.Actions)
	}
}

// A client of the newest release cancels its delete and retries.
func TestRetriesOfTheNewestRelease(t *testing.T) {
	_, r := sweptPlan(t, func(ctx context.Context, e *engine.Engine) (plan.Plan, error) {
		points := regexp.MustCompile("^rpc:shim:Task.(Delete|Shutdown):entry$")
		return pairs.Make(ctx, e, plan.Options{Points: points}, []string{"retry"})
	}, "")
	if r.Planned != 4 || r.Fired != r.Planned || r.Violated != 0 {
		t.Errorf("a cancelled delete is retried until it is done:\n%s", r)
	}
}
