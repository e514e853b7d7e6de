// Package play runs the script of a workload: its steps one after the other, those with
// `&` beside the next. It knows no client. A client gives it a call for each verb.
package play

import (
	"context"
	"sync"

	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/script"
)

// Verb makes the calls of a step on one of its objects.
type Verb func(ctx context.Context, of script.Object, arg string) error

// Player plays a script.
type Player struct {
	Session *client.Session
	Script  script.Script
	// Verbs are the client's calls, by the names of the verbs. A verb without an object is
	// called once.
	Verbs map[string]Verb
	// Query asks what containerd reports behind a step. Nil: nothing is asked.
	Query func(ctx context.Context, step int)

	mu     sync.Mutex
	failed map[script.Object]string // the verb that was to make or start an object
	began  map[beginning]bool
}

// Play plays the script. After a failed step the script goes on. A step is skipped if its
// object could not be created, or if it would wait for an object that could not be
// started.
func (p *Player) Play(ctx context.Context) {
	p.failed, p.began = map[script.Object]string{}, map[beginning]bool{}
	var running sync.WaitGroup
	for n, step := range p.Script {
		ctx := client.OfStep(ctx, n+1)
		switch {
		case ctx.Err() != nil:
		case step.Verb == script.At:
			p.Session.State(ctx, step.Arg)
			continue
		case step.Verb == script.Join:
			running.Wait()
		case step.Concurrent:
			sent := make(chan struct{})
			running.Go(func() { p.step(ctx, n, step, sent) })
			<-sent
		default:
			p.step(ctx, n, step, nil)
		}
		if p.Query != nil {
			p.Query(ctx, n+1)
		}
	}
	running.Wait()
}

// step does a step on each of its objects. sent, if any, is closed when the first call is
// about to be sent.
func (p *Player) step(ctx context.Context, n int, step script.Step, sent chan<- struct{}) {
	if sent != nil {
		close(sent)
	}
	do := p.Verbs[step.Verb]
	if len(step.Of) == 0 {
		_ = do(ctx, script.Object{}, step.Arg) // noted as a call
	}
	for _, of := range step.Of {
		if p.skips(step.Verb, of) {
			p.Session.Record.Note("client", "step %d, %s %s: skipped, because its %s has failed",
				n+1, step.Verb, of, p.failed[of])
			continue
		}
		p.note(step.Verb, of, p.try(ctx, step.Verb, of, func(ctx context.Context) error { return do(ctx, of, step.Arg) }))
	}
}

// try makes the calls of a step. With the verbs that can be repeated the client comes
// back, as dockerd does. For an exec it gives up when one call would have timed out: a
// container whose exec cannot be deleted is deleted all the same.
func (p *Player) try(ctx context.Context, name string, of script.Object, do func(context.Context) error) (err error) {
	verb, _ := script.Named(name)
	if !of.Is(verb.Retried) {
		return do(ctx)
	}
	if of.IsExec() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Session.CallTimeout)
		defer cancel()
	}
	_ = client.Until(ctx, func(ctx context.Context) error {
		if err = do(ctx); p.Session.ComesBack(err) {
			return err
		}
		return nil
	})
	return err
}

// The verbs that make an object, that start one, and that wait for one that runs.
var (
	makes  = map[string]bool{"create": true, "add": true}
	starts = map[string]bool{"start": true, script.Exec: true}
	awaits = map[string]bool{"end": true, "wait": true}
)

// skips reports whether a step on an object is of no use. The object could not be made,
// or the step would wait for an object that could not be started. A container that could
// not be started is left to be removed.
func (p *Player) skips(verb string, of script.Object) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch why := p.failed[of]; {
	case makes[why]:
		return !makes[verb] && verb != script.Exec
	case starts[why]:
		return awaits[verb] || verb == "delete" && !of.IsExec()
	}
	return false
}

// note keeps whether an object was made and started. The refusal of a second start
// changes nothing.
func (p *Player) note(verb string, of script.Object, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !makes[verb] && !starts[verb]:
	case err == nil:
		delete(p.failed, of)
		p.began[beginning{of, starts[verb]}] = true
	case !p.began[beginning{of, starts[verb]}]:
		p.failed[of] = verb
	}
}

// beginning is that an object was made, or started.
type beginning struct {
	of      script.Object
	started bool
}
