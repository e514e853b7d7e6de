package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/fixtures/containerd"
)

// traceRuns is how often each workload is traced for a plan: goroutines race, and what is hit in some runs only must be known as such.
const traceRuns = 6

// Make traces the workloads on the subject and makes the plan.
func Make(ctx context.Context, e Engine, o Options) (Plan, error) {
	o = o.withDefaults()
	if err := o.Check(); err != nil {
		return Plan{}, err
	}
	traces := make([]Traces, len(o.Workloads))
	var g errgroup.Group
	for i, name := range o.Workloads {
		traces[i] = Traces{Workload: name, Runs: make([][]Pass, traceRuns)}
		for n := range traceRuns {
			g.Go(func() (err error) {
				traces[i].Runs[n], err = trace(ctx, e, o.Containerd, name)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return Plan{}, err
	}
	p, err := NewPlan(o, traces)
	if err != nil {
		return p, err
	}
	if p.Version, p.Subject, err = Identify(ctx, o.Containerd); err != nil {
		return p, err
	}
	if err := p.locate(ctx); err != nil {
		return p, err
	}
	p.Digest = p.digest()
	return p, nil
}

// locate notes where the statements of the plan stand.
func (p *Plan) locate(ctx context.Context) error {
	s, err := containerd.Resolve(ctx, p.Containerd, containerd.Options{})
	if err != nil {
		return err
	}
	all, err := s.Statements()
	if err != nil {
		return err
	}
	places := make(map[string]string, len(all))
	for _, st := range all {
		places[st.Name] = st.Place()
	}
	p.Places = map[string]string{}
	for _, spec := range p.Specs {
		if at, ok := places[spec.Point]; ok {
			p.Places[spec.Point] = at
		}
	}
	return nil
}

// Identify says which version a subject is, and the digest of its binaries: of its daemon and its shim.
func Identify(ctx context.Context, spec string) (version, digest string, err error) {
	s, err := containerd.Resolve(ctx, spec, containerd.Options{})
	if err != nil {
		return "", "", err
	}
	h := sha256.New()
	for _, name := range []string{s.Containerd, s.Shim} {
		f, err := os.Open(name)
		if err != nil {
			return "", "", fmt.Errorf("identify the subject: %w", err)
		}
		_, err = io.Copy(h, f)
		_ = f.Close() // it was only read
		if err != nil {
			return "", "", fmt.Errorf("identify the subject: %w", err)
		}
	}
	return s.Version, hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// CheckSubject says whether the containerd at hand is the one that the plan was made for.
func (p Plan) CheckSubject(ctx context.Context) error {
	version, digest, err := Identify(ctx, p.Containerd)
	if err != nil {
		return err
	}
	if digest != p.Subject {
		return fmt.Errorf("the plan %s was made for other binaries of containerd %q (%s, %s) than there are now (%s, %s): begin again in another folder",
			p.Digest, p.Containerd, p.Version, p.Subject, version, digest)
	}
	return nil
}
