// Package runner runs cases: it makes a world, lets the client meet the faults in it,
// looks at what is left, and hands the History of it all to judge.
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

// Runner runs cases. Its zero value is ready; it may run several concurrently.
type Runner struct {
	// Cache keeps what is built. Default: containerd.CacheDir().
	Cache string
	// Evidence is where folders with the evidence of cases that did not hold are kept.
	// Default: out/evidence.
	Evidence string
	// Residues are what releases are known to leave, and what does not violate
	// (catalogue.Residues). Default: nothing is known.
	Residues []residue.Known
	// KeepAll keeps the evidence of cases that held, too.
	KeepAll bool
	// Log hears of builds. Default: os.Stderr hears of those of containerd.
	Log io.Writer
	// Brief saves most of the second use of the first id, where nothing was left: of a pod a
	// sandbox without containers is run, by whose name it can be in the way; of a task,
	// where containerd was started again since the last fault, container and snapshot are
	// created and deleted. It saves a fourth of the case. Default: a whole lifecycle.
	Brief bool
	// Yield, if any, is called around a time in which a case only waits for what may still
	// go away by itself, up to Workload.Settle: whoever hands out processors can give this
	// one's to another case meanwhile. It must call wait once, and return when the case may
	// go on.
	Yield func(wait func())
	// Sabotage is for positive controls and nothing else (suites/control): called when the
	// client is done and before the oracle looks, it leaves something in the world that must
	// be found. Default: nil.
	Sabotage func(context.Context, Scene) error

	judged     func() // called for each history that is judged, by a test
	mu         sync.Mutex
	prepared   map[string]*subject
	references map[tried]*reference
}

// Run runs a case and judges it. It never fails: what keeps a case from being judged is a
// problem of a Verdict that is invalid.
func (r *Runner) Run(ctx context.Context, c harness.Case) harness.Verdict {
	return r.run(ctx, c, false)
}

// Trace runs a case as Run does, and has its processes tell of every statement that they
// pass. Its error says why the case could not be run; a verdict that is not held is no
// error.
func (r *Runner) Trace(ctx context.Context, c harness.Case) (harness.Trace, error) {
	v := r.run(ctx, c, true)
	if v.Outcome == harness.Invalid {
		return harness.Trace{Verdict: v}, fmt.Errorf("trace %s: %s", c.Name, v.Why())
	}
	passes, err := v.History.Passes()
	return harness.Trace{Passes: passes, Verdict: v}, err
}

func (r *Runner) run(ctx context.Context, c harness.Case, trace bool) harness.Verdict {
	x := r.begin(ctx, c, trace)
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

// subject is a containerd under test with its root's template.
type subject struct {
	*containerd.Subject
	template string
	fakeshim string // path of the fake shim's program
	payload  string // path of the payload's
}

// Prepare builds what the cases of a subject need, so that the first Run does not take a
// minute.
func (r *Runner) Prepare(ctx context.Context, spec string) error {
	_, err := r.prepare(ctx, spec)
	return err
}

// collectSeldom spares this program most of its garbage collections, as collectLess does
// in worlds: some 200 MiB in place of 100, for a hundredth of a case's time.
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
