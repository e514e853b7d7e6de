// Package runner runs cases. It creates a world: namespaces, a root and a containerd for
// this case alone. It runs the client and the faults there, and takes an inventory
// afterwards. Package judge then judges the History.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/oracle/residue"
	"github.com/shimquake/shimquake/shims/fakeshim"
)

// Runner runs cases. Its zero value is ready for use, also concurrently.
type Runner struct {
	// Cache is the folder for builds. Default: containerd.CacheDir().
	Cache string
	// Evidence is the folder for the evidence of cases that did not hold. Default:
	// out/evidence.
	Evidence string
	// Residues are the known residues of releases, which are no violations
	// (catalogue.Residues). Default: none.
	Residues []residue.Known
	// KeepAll means that the evidence of cases that held is kept, too.
	KeepAll bool
	// Log receives the progress of builds. Default: os.Stderr, but only for builds of
	// containerd.
	Log io.Writer
	// Brief shortens the second use of the first id if the run has no violation so far. A
	// pod then has no containers, because only its name can be blocked. Of a task, only
	// the container and its snapshot are made, if containerd was started after the last
	// fault. This saves a fourth of the case's time. Default: a whole lifecycle.
	Brief bool
	// Cover records the functions with probes that each case reaches (History.Functions).
	Cover bool
	// Yield, if not nil, is called for each wait that needs no CPU time, of up to
	// Workload.Settle. The caller can run another case meanwhile. Yield must call wait once,
	// and return when the case may continue.
	Yield func(wait func())
	// Sabotage is for positive controls only (suites/control). It is called between the
	// client's end and the inventory, and plants a leak that the verdict must report.
	// Default: nil.
	Sabotage func(context.Context, Scene) error

	judged     func() // called for each judged history, by a test
	mu         sync.Mutex
	prepared   map[string]*subject
	references map[tried]*reference
}

// Run runs a case and judges it. If the case cannot be judged, the Verdict is invalid,
// and its Problems have the reason.
func (r *Runner) Run(ctx context.Context, c harness.Case) harness.Verdict {
	return r.run(ctx, c, false)
}

// Trace runs a case as Run does, and records every statement with a probe that its
// processes execute. It returns an error if the verdict is invalid, but not if it is
// violated.
func (r *Runner) Trace(ctx context.Context, c harness.Case) (harness.Trace, error) {
	v := r.run(ctx, c, true)
	if v.Outcome == harness.Invalid {
		return harness.Trace{Verdict: v}, fmt.Errorf("trace %s: %s", c.Name, v.ProblemsText())
	}
	passes, err := v.History.TracedHits()
	return harness.Trace{Hits: passes, Verdict: v}, err
}

// maxStalled is the number of runs of a case while the machine stands still too long for
// its time limits.
const maxStalled = 3

// run runs a case, and again if it is invalid because the machine stood still.
func (r *Runner) run(ctx context.Context, c harness.Case, trace bool) harness.Verdict {
	why := ""
	for runs := 1; ; runs++ {
		v := r.once(ctx, c, trace, why)
		stalled := v.HasProblem(harness.ByStall) && v.Outcome == harness.Invalid
		if !stalled || runs == maxStalled || ctx.Err() != nil {
			return v
		}
		why = v.ProblemsText()
		if err := discard(v.Evidence); err != nil {
			why += "; " + err.Error()
		}
	}
}

// yield waits. Another case may run meanwhile.
func (r *Runner) yield(wait func()) {
	if r.Yield == nil {
		wait()
		return
	}
	r.Yield(wait)
}

// once runs a case. The text is the History's Again.
func (r *Runner) once(ctx context.Context, c harness.Case, trace bool, again string) harness.Verdict {
	x := r.begin(ctx, c, trace)
	x.record.Set(func(h *harness.History) { h.Again = again })
	x.observe()
	x.noteEnd()
	x.refer()
	return x.close()
}

// verdict judges a history.
func (r *Runner) verdict(h harness.History) harness.Verdict {
	if r.judged != nil {
		r.judged()
	}
	return judge.Judge(h, r.Residues)
}

// subject is a containerd under test, with a template for its root directory.
type subject struct {
	*containerd.Subject
	template string
	fakeshim string // the path of the fake shim
	payload  string // the path of the payload
}

// Prepare builds the programs for cases with this containerd. Otherwise the first Run
// builds them, which can take a minute.
func (r *Runner) Prepare(ctx context.Context, spec string) error {
	_, err := r.prepare(ctx, spec)
	return err
}

// collectSeldom reduces the garbage collections of this program, as collectLess does for
// the programs in a world. This costs some 100 MiB, and saves a hundredth of a case's
// time.
var collectSeldom = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
})

func (r *Runner) prepare(ctx context.Context, spec string) (*subject, error) {
	collectSeldom()
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.prepared[spec]; s != nil {
		return s, nil
	}
	if err := errors.Join(world.Check(), world.CheckRlimits()); err != nil {
		return nil, err
	}
	if r.Cache == "" {
		dir, err := containerd.CacheDir()
		if err != nil {
			return nil, err
		}
		r.Cache = dir
	}
	s, err := containerd.Resolve(ctx, spec, containerd.Options{Cache: r.Cache, Log: r.Log})
	if err != nil {
		return nil, err
	}
	template, err := daemon.Template(ctx, s, r.Cache)
	if err != nil {
		return nil, err
	}
	fake, err := fakeshim.Build(ctx, r.Cache)
	if err != nil {
		return nil, err
	}
	load, err := payload.Build(ctx, r.Cache)
	if err != nil {
		return nil, err
	}
	if r.prepared == nil {
		r.prepared = map[string]*subject{}
	}
	r.prepared[spec] = &subject{Subject: s, template: template, fakeshim: fake, payload: load}
	return r.prepared[spec], nil
}
