package sweep

import (
	"context"
	"errors"
	"os"

	"github.com/shimquake/shimquake/harness"
)

// shrinking is the check of one seed: the plan that was drawn, and if it shows something new the smaller ones that rapid tries.
type shrinking struct {
	ctx    context.Context
	random *Random
	// drawn is the seed's own plan, smallest the last that has shown the same.
	drawn, smallest *Draw
	// target is what the drawn plan has left and nobody knows; a smaller plan must leave it, too.
	target []Signature
	// seen are the plans that were run, and whether they have left it: rapid wants an answer that does not change.
	seen map[Spec]bool
	err  error
}

// violates says whether a plan leaves something new.
func (s *shrinking) violates(spec Spec) bool {
	if was, ok := s.seen[spec]; ok || s.err != nil || s.ctx.Err() != nil {
		return was
	}
	runs := 1
	if s.target != nil {
		runs = shrinkTries
	}
	for range runs {
		res, err := s.run(spec)
		if err != nil {
			s.err = err
			return false
		}
		d := &Draw{Spec: spec, Result: res}
		if s.drawn == nil {
			s.drawn = d
			s.target = s.random.claim(spec, res)
		}
		if s.target != nil && res.shows(s.target, spec.shared()) {
			s.smallest = d
			s.seen[spec] = true
			return true
		}
	}
	s.seen[spec] = false
	return false
}

// run runs the case of a plan. The evidence of it is not kept: the smallest is run again for that.
func (s *shrinking) run(spec Spec) (Result, error) {
	c, err := spec.Case(s.random.Base.Containerd)
	if err != nil {
		return Result{}, err
	}
	s.random.Slots.take()
	v := s.random.Engine.Run(s.ctx, c)
	s.random.Slots.give()
	if v.Unable() {
		return Result{}, errors.New("this machine cannot run the plans: " + v.Why())
	}
	res := Result{Outcome: v.Outcome, Why: v.Why(), Found: v.Violations(), Millis: v.Took.Milliseconds()}
	if s.ctx.Err() != nil || v.Evidence == "" {
		return res, nil
	}
	return res, os.RemoveAll(v.Evidence)
}

// shows says whether a case has left all of these.
func (r Result) shows(target []Signature, shared bool) bool {
	main, _ := signatures(r.Found, shared)
	return r.Outcome == harness.Violated && subset(target, main)
}

// claim is something that a case has left, that the catalogue does not know, and that no other plan has been seen to leave.
func (r *Random) claim(spec Spec, res Result) []Signature {
	if res.Outcome != harness.Violated {
		return nil
	}
	p := Plan{Version: r.Base.Version, Specs: []Spec{spec}}
	fresh, _ := split(p, r.Known, members(Result{Found: res.Found}, spec.shared()), func(int) bool { return true })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range fresh {
		if sig := signature(m.left); !r.claimed[sig] {
			r.claimed[sig] = true
			return m.left
		}
	}
	return nil
}
