package runner

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client/task"
	"github.com/shimquake/shimquake/must"
)

// benchCases are the measured cases: a fault by a probe, and a signal after which
// containerd cleans up after a dead shim.
func benchCases() []harness.Case {
	return []harness.Case{
		{Name: "shutdown-error-once", Workload: harness.Workload{Containers: []harness.Container{{Exit: 7}}},
			Plan: failpoints.Plan{failpoints.Error("rpc:shim:Task.Shutdown:entry", 1, "injected")}},
		{Name: "shim-sigkill-running", Workload: harness.Workload{Containers: []harness.Container{{Signal: "SIGKILL"}}},
			Plan: failpoints.Plan{failpoints.Kill("proc:shim:running")}},
	}
}

// cost is the cost of a run: wall time, and CPU time of the harness and of the world.
type cost struct{ wall, cpu time.Duration }

func median(of []cost, what func(cost) time.Duration) time.Duration {
	all := make([]time.Duration, len(of))
	for i, c := range of {
		all[i] = what(c)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkCase compares whole cases, with world, boot, faults and oracle, with a bare
// create-start-wait-delete on a running containerd. The three take turns, so that a noisy
// machine affects all of them. The ratios compare the medians.
func BenchmarkCase(b *testing.B) {
	r := &Runner{Residues: catalogue.Residues(), Evidence: b.TempDir()}
	bare := newBareWorld(b, r)
	costs := map[string][]cost{}
	for b.Loop() {
		costs["bare"] = append(costs["bare"], bare.lifecycle(b))
		for _, c := range benchCases() {
			begun, cpu := time.Now(), ownCPU(b)
			v := r.Run(b.Context(), c)
			if v.Outcome != harness.Held {
				b.Fatal(v)
			}
			costs[c.Name] = append(costs[c.Name], cost{time.Since(begun), ownCPU(b) - cpu + v.CPU})
		}
	}
	wall, cpu := func(c cost) time.Duration { return c.wall }, func(c cost) time.Duration { return c.cpu }
	b.ReportMetric(0, "ns/op") // of three different things together it says nothing
	b.ReportMetric(float64(median(costs["bare"], wall).Milliseconds()), "bare-wall-ms")
	b.ReportMetric(float64(median(costs["bare"], cpu).Milliseconds()), "bare-cpu-ms")
	for _, c := range benchCases() {
		b.ReportMetric(float64(median(costs[c.Name], wall))/float64(median(costs["bare"], wall)), c.Name+"-wall/bare")
		b.ReportMetric(float64(median(costs[c.Name], cpu))/float64(median(costs["bare"], cpu)), c.Name+"-cpu/bare")
		b.ReportMetric(float64(median(costs[c.Name], cpu).Milliseconds()), c.Name+"-cpu-ms")
	}
}

// BenchmarkWorlds measures the cases per minute in 1, 2 and 4 worlds at once, and the
// peak memory of the harness.
func BenchmarkWorlds(b *testing.B) {
	for _, worlds := range []int{1, 2, 4} {
		b.Run(strconv.Itoa(worlds), func(b *testing.B) {
			r := &Runner{Residues: catalogue.Residues(), Evidence: b.TempDir()}
			must.SkipIf(b, r.Prepare(b.Context(), ""))
			cases := benchCases()
			var g errgroup.Group
			g.SetLimit(worlds)
			var bad atomic.Pointer[harness.Verdict]
			begun, n := time.Now(), 0
			for b.Loop() {
				c := cases[n%len(cases)]
				n++
				g.Go(func() error {
					if v := r.Run(b.Context(), c); v.Outcome != harness.Held {
						bad.Store(&v)
					}
					return nil
				})
			}
			_ = g.Wait() // no case returns an error
			if v := bad.Load(); v != nil {
				b.Fatal(v)
			}
			b.ReportMetric(float64(n)/time.Since(begun).Minutes(), "cases/min")
			b.ReportMetric(peakMiB(b), "peak-MiB")
		})
	}
}

// peakMiB returns the peak resident size of this process (VmHWM of proc_pid_status(5)).
func peakMiB(b *testing.B) float64 {
	text := must.Get(os.ReadFile("/proc/self/status"))(b)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib := must.Get(strconv.Atoi(strings.Fields(rest)[0]))(b)
			return float64(kib) / 1024
		}
	}
	b.Fatal("no VmHWM in /proc/self/status")
	return 0
}

func ownCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	must.Succeed(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bareWorld returns a world with a containerd that keeps running.
type bareWorld struct{ x *run }

func newBareWorld(tb testing.TB, r *Runner) *bareWorld {
	x := r.begin(tb.Context(), harness.Case{Name: "bare", Workload: harness.Workload{Containers: exits(7)}}, false)
	err := errors.Join(x.prepare(), x.boot())
	if IsUnsupported(err) {
		tb.Skip(err)
	}
	must.Succeed(tb, err)
	tb.Cleanup(func() { must.Succeed(tb, x.closeWorld()) })
	return &bareWorld{x: x}
}

// lifecycle runs the calls of a containerd user: create, start, wait, delete.
func (w *bareWorld) lifecycle(b *testing.B) cost {
	begun, own, world := time.Now(), ownCPU(b), w.x.world.CPU()
	c := task.New(w.x.session)
	if err := c.Run(b.Context()); err != nil || c.Instances()[0].Deleted.IsZero() {
		b.Fatal("the bare lifecycle failed: ", err)
	}
	return cost{time.Since(begun), ownCPU(b) - own + w.x.world.CPU() - world}
}
