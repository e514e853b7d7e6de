package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/oracle"
)

// unfired says which faults did not happen, and what was hit instead.
func (x *experiment) unfired(firings []Firing) error {
	var missed []string
	for _, f := range firings {
		if f.Count == 0 {
			missed = append(missed, f.Text)
		}
	}
	x.inject.mu.Lock()
	defer x.inject.mu.Unlock()
	if len(missed) == 0 {
		if len(x.inject.errs) > 0 { // a step that was not taken leaves another fault than the plan says
			return fmt.Errorf("not all of the plan could be done: %w", errors.Join(x.inject.errs...))
		}
		return nil
	}
	hits := map[string]int{}
	for _, h := range x.controller.Hits() {
		hits[h.Point]++
	}
	seen := make([]string, 0, len(hits))
	for p, n := range hits {
		seen = append(seen, fmt.Sprintf("%s x%d", p, n))
	}
	slices.Sort(seen)
	if len(seen) == 0 {
		seen = []string{"no point at all"}
	}
	return errors.Join(append(slices.Clone(x.inject.errs),
		fmt.Errorf("these faults did not fire: %s; hit instead: %s", strings.Join(missed, "; "), strings.Join(seen, ", ")))...)
}

// judge asks the oracle for each of the invariants.
func (x *experiment) judge(ctx context.Context, v *Verdict, gaveUp error) error {
	found := func(fs ...oracle.Finding) { v.Findings = append(v.Findings, fs...) }
	if gaveUp != nil {
		found(x.notRemoved(gaveUp))
	}
	up, cancel := context.WithTimeout(ctx, x.Workload.Deadline)
	defer cancel()
	scene, err := x.sceneUp(up)
	if err != nil {
		found(oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassProcess, Facts: oracle.Failure(oracle.Boot, err)})
		return nil
	}
	after, left, err := x.settle(ctx, scene, x.before)
	if status.Code(err) == codes.Unimplemented && x.inject.anyFired() { // as in takeBefore
		if err = x.daemon.Restart(up); err == nil {
			if scene, err = x.sceneUp(up); err == nil {
				after, left, err = x.settle(ctx, scene, x.before)
			}
		}
	}
	if refused(err) {
		found(oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: oracle.Failure(oracle.Listing, err)})
		return nil
	}
	if err != nil {
		// One that hangs by itself is a finding. One that the plan has stopped, or that is not reached for a reason of ours, is none.
		now, downErr := x.sceneUp(up) // the client at hand may be that of one that was killed meanwhile
		if downErr != nil || x.stopsContainerd() {
			return err
		}
		hangs := oracle.Answers(ctx, now.Client, answerBound)
		if len(hangs) == 0 || ctx.Err() != nil {
			return err
		}
		found(hangs...)
		return nil
	}
	found(left...)
	found(oracle.Answers(ctx, scene.Client, answerBound)...)
	forgotten, err := oracle.Forgotten(after)
	if err != nil {
		return err
	}
	found(forgotten...)
	events, err := x.judgeEvents(ctx, scene.Client)
	if err != nil {
		return err
	}
	found(events...)
	heard := len(x.events.Events())
	if err := x.judgeExits(v); err != nil {
		return err
	}
	x.timeline.note("oracle", "%d findings", len(v.Findings))
	if gaveUp != nil || x.faultless() {
		return nil // without a fault nothing can be in the way of the id
	}
	if !x.judgeRestart(ctx, v) {
		return nil
	}
	err = x.judgeAgain(ctx, v, after)
	lies, lateErr := lateLies(v.Truths, x.client.all(), x.events.Events()[heard:])
	found(lies...)
	return errors.Join(err, lateErr)
}

// notRemoved is the finding about what the client could not get rid of.
func (x *experiment) notRemoved(err error) oracle.Finding {
	fs := oracle.Failure(oracle.Removal, err)
	if fs[oracle.FactObject] = oracle.AContainer; x.Workload.API == CRI {
		fs[oracle.FactObject] = oracle.APod
	}
	return oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer, Facts: fs}
}

// answerBound is how long an idle containerd may take for a simple answer. It takes less than a millisecond.
const answerBound = 5 * time.Second

// stopsContainerd says whether the plan has containerd stand still at some time.
func (x *experiment) stopsContainerd() bool {
	return slices.ContainsFunc(x.Plan, func(f failpoints.Fault) bool {
		return f.At.Who == "containerd" && f.Do.At(1).Action == term.Stop ||
			slices.ContainsFunc(f.While, func(s failpoints.Step) bool { return s.Verb == "stop" && s.Who == "containerd" })
	})
}

// restartBound is how long a containerd with nothing to load may take until it answers. It takes 30 to 60 ms; each shim that does not answer costs it
// 5 s (shim.load of [timeouts]).
const restartBound = 10 * time.Second

// judgeRestart restarts containerd where the case asks for it and no crash has done so already.
func (x *experiment) judgeRestart(ctx context.Context, v *Verdict) bool {
	if (x.Workload.API != CRI && !x.Workload.Thorough) || len(x.daemon.Deaths()) > 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, restartBound)
	defer cancel()
	err := x.daemon.Kill(ctx)
	if err == nil {
		x.daemon.Release()
		_, _, err = x.daemon.Up(ctx)
	}
	x.timeline.note("oracle", "containerd restarted: %v", err)
	if err != nil {
		v.Findings = append(v.Findings, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon,
			Facts: oracle.Failure(oracle.ARestart, err).With(oracle.Facts{oracle.FactBound: restartBound.String()})})
	}
	return err == nil
}

// refused says whether containerd was asked and answered with an error of its own (seen on v2.3.7: "client supports only v2 and v3 TTRPC task client",
// at each listing of tasks). That it was not reached, or not in time, says nothing.
func refused(err error) bool {
	s, answered := status.FromError(err)
	return err != nil && answered && s.Code() == codes.Unknown
}

// circumstances are what known residues depend on.
func (x *experiment) circumstances() oracle.Circumstances {
	c := oracle.Circumstances{Release: x.subject.Version}
	for _, k := range x.client.all() {
		if !k.life.Deleted.IsZero() {
			c.Happened = append(c.Happened, oracle.TaskDeleted)
		}
	}
	if x.inject.anyFired() {
		c.Happened = append(c.Happened, oracle.FaultInjected)
	}
	if len(x.daemon.Deaths()) > 0 {
		c.Happened = append(c.Happened, oracle.ContainerdDied)
	}
	serving := map[int]bool{}
	for _, h := range x.controller.Hits() {
		if h.Who != "shim" {
			continue
		}
		if strings.HasPrefix(h.Point, "rpc:shim:Task.Create:") {
			serving[h.PID] = true
		}
		if h.Did == term.Crash || h.Did == term.Panic {
			c.Happened = append(c.Happened, oracle.ShimKilled)
			if serving[h.PID] {
				c.Happened = append(c.Happened, oracle.ShimKilledServing)
			}
		}
	}
	x.inject.mu.Lock()
	defer x.inject.mu.Unlock()
	for id := range x.inject.killed {
		if x.inject.shims[id] {
			c.Happened = append(c.Happened, oracle.ShimKilled)
			if serving[id.PID] {
				c.Happened = append(c.Happened, oracle.ShimKilledServing)
			}
		}
	}
	return c
}

// judgeExits compares what was told of each container's exit with the truth.
func (x *experiment) judgeExits(v *Verdict) error {
	x.events.Ledgered(x.ledger)
	x.controller.Flush(hitPatience)
	x.ledgerShims()
	ran := map[string]bool{}
	judged := &oracle.Ledger{}
	for _, k := range x.client.all() {
		if k.id == "" { // it was never created
			continue
		}
		t, did, err := x.witness.truth(k)
		if err != nil {
			return fmt.Errorf("learn the truth: %w", err)
		}
		if !did {
			if t, did = x.killedBefore(k); !did {
				v.NeverBegan = append(v.NeverBegan, k.id)
				continue
			}
		}
		ran[k.id] = true
		if err := judged.True(t); err != nil {
			return err
		}
		if len(x.Plan) == 0 && t.Status != k.spec.want() {
			return fmt.Errorf("the payload of %s was to end with %d, ended with %d (%s), and nothing was broken", k.name, k.spec.want(), t.Status, t.Source)
		}
		judged.Require(k.id, "", x.client.observers(k)...)
	}
	for _, o := range x.ledger.Observations() {
		if ran[o.Container] { // of a payload that never began nothing is known
			judged.Observe(o)
		}
	}
	v.Truths, v.Told = judged.Truths(), judged.Observations()
	if len(ran) == 0 && !x.faultless() {
		return nil
	}
	lies, err := judged.Check()
	v.Findings = append(v.Findings, lies...)
	if errors.Is(err, oracle.ErrNotObserved) && !errors.Is(err, oracle.ErrNoTruth) && !x.faultless() {
		return nil // after a fault there may be nobody left to ask; events, which must arrive, are judged by themselves
	}
	return err
}

// judgeEvents judges the events when no more can come.
func (x *experiment) judgeEvents(ctx context.Context, c *client.Client) ([]oracle.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, x.Workload.Deadline)
	defer cancel()
	if err := x.events.Flush(ctx, c); err != nil {
		return nil, err
	}
	var lives []oracle.Life
	for _, k := range x.client.all() {
		if own, err := x.witness.record(k.name); err == nil && own.Exited {
			k.life.Exited = own.ExitedAt
		} else if err == nil && own.Runs > 0 {
			k.life.Exited = k.waited // a payload that is killed has no time to note it
		}
		if k.id != "" {
			lives = append(lives, k.life)
		}
	}
	deafWhileDown(x.events, x.daemon.Deaths())
	found, now := x.events.Check(lives), x.circumstances()
	shimKilled := slices.Contains(now.Happened, oracle.ShimKilled)
	for i, f := range found {
		if x.lastOfShim(f.Subject.ID) || shimKilled && x.shimDeleted(f.Subject.ID) {
			found[i].Facts[oracle.FactLast] = oracle.Yes
		}
	}
	return oracle.Mark(found, now), nil
}

// shimDeleted says whether a shim has carried out the Delete of a container. If it was killed afterwards, what it had not sent died with it.
func (x *experiment) shimDeleted(id string) bool {
	return slices.ContainsFunc(x.controller.Hits(), func(h failpoints.Hit) bool {
		return h.Point == "rpc:shim:Task.Delete:exit" && h.ID == id && h.ExecID == "" && h.Err == ""
	})
}

// lastOfShim says whether the delete of a container was the last thing that its shim had to tell before it was told to exit. In a pod that is the
// sandbox's, of containers behind one shim that of the one that was deleted last.
func (x *experiment) lastOfShim(id string) bool {
	if x.Workload.API == CRI {
		return !slices.ContainsFunc(x.client.all(), func(k *container) bool { return k.id == id })
	}
	if !x.Workload.Grouped {
		return true
	}
	var last *container
	for _, k := range x.client.all() {
		if last == nil || k.life.Deleted.After(last.life.Deleted) {
			last = k
		}
	}
	return last.id == id
}

// tell merges what the client, the probes, containerd's deaths and its events say into one timeline.
func (x *experiment) tell() []Entry {
	for _, h := range x.controller.Hits() {
		e := Entry{At: h.Time, Who: h.Who, What: fmt.Sprintf("%s %s", h.Point, h.ID), Took: h.Held, Err: h.Err}
		if h.Fault >= 0 {
			e.What += " FAULT " + string(h.Did)
		}
		if h.Status != nil {
			e.What += fmt.Sprintf(" status %d", *h.Status)
		}
		x.timeline.add(e)
	}
	for _, d := range x.daemon.Deaths() {
		x.timeline.add(Entry{At: d.At, Who: "containerd", What: fmt.Sprintf("ended with %d, answers again after %s", d.Code, d.BackIn.Round(time.Millisecond))})
	}
	for _, ev := range x.events.Events() {
		x.timeline.add(Entry{At: ev.Seen, Who: "event", What: fmt.Sprintf("%s %s %s pid %d status %d", ev.Topic, ev.Container, ev.Exec, ev.PID, ev.Status)})
	}
	return x.timeline.sorted()
}
