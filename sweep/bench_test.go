package sweep

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// BenchmarkSweep measures how many cases a minute a sweep of 100 and one of 2,000 cases
// runs. The rate must not fall with the plan's size. The cases are real: containerd
// crashes at statements of the task's lifecycle, and the longer plan repeats them.
func BenchmarkSweep(b *testing.B) {
	parallel := 3 * runtime.NumCPU()
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: b.TempDir(), Brief: true}
	must.SkipIf(b, r.Prepare(b.Context(), ""))
	e := engine.New(r, parallel)
	p := must.Get(plan.Make(b.Context(), e, plan.Options{
		Who: []string{"daemon"}, Actions: []string{"crash"}, Workloads: []string{"task"}}))(b)
	for _, n := range []int{100, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cut := p
			// Every n-th case of the plan, so that both sweeps have the same share of
			// leaks.
			every := max(len(p.Specs)/n, 1)
			cut.Specs = nil
			for i := 0; len(cut.Specs) < n; i += every {
				cut.Specs = append(cut.Specs, p.Specs[i%len(p.Specs)])
			}
			cut = cut.WithDigest()
			for b.Loop() {
				h := journal.Head{Plan: cut, Shard: whole}
				j := must.Get(journal.Create(b.TempDir(), h))(b)
				begun := time.Now()
				results := must.Get((&Schedule{Engine: e, Head: h, Journal: j}).Run(b.Context()))(b)
				b.ReportMetric(float64(n)/time.Since(begun).Minutes(), "cases/min")
				invalid := slices.DeleteFunc(results, func(r journal.Result) bool { return r.Outcome != harness.Invalid })
				b.ReportMetric(float64(len(invalid)), "invalid")
				must.Succeed(b, j.Close())
			}
			b.ReportMetric(0, "ns/op") // the rate is enough
		})
	}
}
