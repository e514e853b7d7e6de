// Package play runs the script of a workload: its steps one after the other, but a step
// with `&` concurrently with the next ones. A client gives it a function for each verb.
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
	// Verbs has the client's function for each verb. For a verb without objects it is called
	// once.
	Verbs map[string]Verb
	// Query, if not nil, is called after each step. It records the states that containerd
	// reports.
	Query func(ctx context.Context, step int)
	// Late has the verbs whose functions call Sent.
	Late map[string]bool
	// Around, if not nil, is called at each `mark` step, and must call faults. The faults of
	// a state happen only at the first `mark` step with its name.
	Around func(ctx context.Context, mark string, faults func())

	mu     sync.Mutex
	failed map[script.Object]string // the verb that was to make or start an object
	began  map[beginning]bool
}

// Play runs the script. It continues after a failed step. It skips a step whose object
// could not be created. It also skips a step that would wait for an object that could not
// be started.
func (p *Player) Play(ctx context.Context) {
	p.failed, p.began = map[script.Object]string{}, map[beginning]bool{}
	var running sync.WaitGroup
	reached := map[string]bool{}
	for n, step := range p.Script {
		ctx := client.WithStep(ctx, n+1)
		switch {
		case client.Over(ctx) != nil:
		case step.Verb == script.Mark:
			p.at(ctx, step.Arg, reached[step.Arg])
			reached[step.Arg] = true
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

// at does a `mark` step. again is set if an earlier step had the same name.
func (p *Player) at(ctx context.Context, mark string, again bool) {
	faults := func() {
		if !again {
			p.Session.State(ctx, mark)
		}
	}
	if p.Around == nil {
		faults()
		return
	}
	p.Around(ctx, mark, faults)
}

// sentKey is the context key of the function that Sent calls.
type sentKey struct{}

// Sent reports that the request of a concurrent step has been sent, so that the next step
// can begin.
func Sent(ctx context.Context) {
	if say, ok := ctx.Value(sentKey{}).(func()); ok {
		say()
	}
}

// step does a step for each of its objects. If sent is not nil, step closes it just
// before the first call, or when a Late verb calls Sent.
func (p *Player) step(ctx context.Context, n int, step script.Step, sent chan<- struct{}) {
	if sent != nil {
		say := sync.OnceFunc(func() { close(sent) })
		defer say()
		ctx = context.WithValue(ctx, sentKey{}, say)
		if !p.Late[step.Verb] {
			say()
		}
	}
	if p.Session.Beside != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Session.CallTimeout)
		defer cancel()
	}
	do := p.Verbs[step.Verb]
	if len(step.Of) == 0 {
		_ = do(ctx, script.Object{}, step.Arg) // noted as a call
	}
	for _, of := range step.Of {
		if why := p.skips(step.Verb, of); why != "" {
			p.Session.Record.Note("client", "step %d, %s %s: skipped, because %s has failed", n+1, step.Verb, of, why)
			continue
		}
		p.note(step.Verb, of, p.try(ctx, step.Verb, of, func(ctx context.Context) error { return do(ctx, of, step.Arg) }))
	}
}

// try makes the calls of a step. It retries the verbs that allow it, as dockerd does. For
// an exec it stops after CallTimeout, because the client can delete the container even if
// the exec's delete fails.
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
		if err = do(ctx); p.Session.ShouldRetry(err) {
			return err
		}
		return nil
	})
	return err
}

// role is the role of a verb; "" has none.
func role(verb string) script.Role {
	v, _ := script.Named(verb)
	return v.Role
}

// skips returns the failed step because of which a step on an object is skipped, or "" if
// it is not skipped. The object could not be created or removed, or the step would wait
// for an object that could not be started.
func (p *Player) skips(verb string, of script.Object) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	in, is := script.Container(of.Container), role(verb)
	switch why := p.failed[of]; {
	case of != script.ThePod && p.failed[script.ThePod] != "":
		return "that of its pod"
	case of != in && is == script.Inside && p.failed[in] != "":
		return "the " + p.failed[in] + " of its container"
	case role(why) == script.Makes && is != script.Makes && verb != script.Exec,
		role(why) == script.Starts && (is == script.Awaits || verb == "delete" && !of.IsExec()),
		why == "remove" && verb != why:
		return "its " + why
	}
	return ""
}

// note records whether an object was created and started. A refused second start changes
// nothing.
func (p *Player) note(verb string, of script.Object, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := role(verb)
	switch {
	case verb == "remove" && err != nil:
		p.failed[of] = verb
	case verb == "remove":
		for _, started := range []bool{false, true} {
			delete(p.began, beginning{of, started})
		}
	case is != script.Makes && is != script.Starts:
	case err == nil:
		delete(p.failed, of)
		p.began[beginning{of, is == script.Starts}] = true
	case !p.began[beginning{of, is == script.Starts}]:
		p.failed[of] = verb
	}
}

// beginning is the creation or the start of an object.
type beginning struct {
	of      script.Object
	started bool
}
