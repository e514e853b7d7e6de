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
	"github.com/shimquake/shimquake/oracle"
)

// hasty is a runner whose oracle waits a second, and not six, for what is left: a test should be quick, and what leaks here leaks for good.
type hasty struct{ *runner.Runner }

func (h hasty) Run(ctx context.Context, c harness.Case) harness.Verdict {
	c.Workload.Settle = time.Second
	return h.Runner.Run(ctx, c)
}

// swept sweeps for real.
func swept(t *testing.T, o Options) (Plan, Report) {
	t.Helper()
	return sweptPlan(t, func(ctx context.Context, e Engine) (Plan, error) { return Make(ctx, e, o) }, o.Containerd)
}

// prepared is a runner that can run a subject.
func prepared(t *testing.T, containerd string) *runner.Runner {
	t.Helper()
	r := &runner.Runner{Evidence: t.TempDir() + "/evidence", Brief: true}
	if err := runner.CheckRequirements(harness.Case{}); err != nil {
		t.Skip(err)
	}
	if err := r.Prepare(t.Context(), containerd); err != nil {
		if runner.IsUnsupported(err) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return r
}

// sweptPlan makes a plan and runs it.
func sweptPlan(t *testing.T, plan func(context.Context, Engine) (Plan, error), containerd string) (Plan, Report) {
	t.Helper()
	dir, r := t.TempDir(), prepared(t, containerd)
	p, err := plan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	h := Head{Plan: p, Shard: Shard{1, 1}}
	j, err := CreateJournal(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Schedule{Engine: hasty{r}, Head: h, Journal: j, Parallel: 6}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	h, results, err := ReadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p, NewReport(h, results, catalogue.Findings())
}

func TestTheDeletePathOfTheNewestRelease(t *testing.T) {
	p, r := swept(t, Options{Who: []string{"shim"}, Actions: []string{"error"}, Paths: []string{"delete"}, Workloads: []string{"task"}, Points: regexp.MustCompile("^rpc:.*Task")})
	if r.Planned < 4 || r.Executed != r.Planned || r.Fired != r.Planned || r.Planned != len(p.Specs) {
		t.Errorf("not all of it was run:\n%s", r)
	}
	for _, g := range r.New {
		if g.Left[0].Class == oracle.ClassShim {
			t.Errorf("its delete path leaks no shim when a method fails once:\n%s", r)
		}
	}
}

// The control: containerd up to 2.3 ignores the error of Shutdown (containerd#8981), and a sweep of it must say so.
func TestALeakedShimIsFound(t *testing.T) {
	_, r := swept(t, Options{Containerd: "v2.3.7", Who: []string{"shim"}, Actions: []string{"error"}, Workloads: []string{"task"}, Points: regexp.MustCompile("^rpc:shim:Task.Shutdown:entry$")})
	if len(r.New) != 1 || r.New[0].Left[0].Class != oracle.ClassShim || r.Status() != 1 {
		t.Fatalf("one leaked shim must be found:\n%s", r)
	}
	if w := r.New[0].Windows[0]; w.Who != "shim" || w.Function != "Task.Shutdown" || !strings.Contains(r.String(), "NEW: shim-shim-task.shutdown") {
		t.Errorf("%+v\n%s", w, r)
	}
}
