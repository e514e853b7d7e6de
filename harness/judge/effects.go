package judge

import (
	"iter"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// kind is a kind of fault effect.
type kind int

// The kinds of fault effects. An effect without a known start counts from the beginning
// of the run.
const (
	containerdDown  kind = iota // containerd was down until the next one responded.
	containerdEnds              // containerd was asked to end: it closes its socket first.
	containerdLost              // containerd ended without a request to end gracefully.
	shimKilled                  // A shim died of SIGKILL, or of a panic.
	processKilled               // The harness killed a process that is not containerd.
	notSubscribed               // The harness was not subscribed to events.
	frozen                      // The harness froze containerd, and resumed it later.
	slowed                      // The plan freezes processes, or slows them down without a probe.
	containerdFroze             // The plan freezes containerd.
	procFault                   // The harness acted on a process (a point of kind proc).
	kernelSlow                  // The kernel was slow, or its disk.
	diskSlow                    // The disk of containerd's root was slow.
	shimHeld                    // A probe held a shim.
	callHeld                    // A probe held a process for some time.
	callBroken                  // A probe changed, dropped or cancelled a call.
	statementBroken             // A probe injected a fault at a statement.
	crashed                     // A probe crashed its process.
	eventBroken                 // A probe broke a statement, or the sending of an event.
	responseDropped             // A probe dropped the response to a call of containerd.
	nodeRebooted                // The node rebooted.
	anyFault                    // The case has a fault, or a misbehaviour of the fake shim.
	nodePlanned                 // The plan has a fault for the node.
	responseKept                // The plan holds, drops or cancels calls.
	shimPlanned                 // The plan has a fault for a shim.
	shimBroken                  // The plan has a fault for a shim that does not kill it.
	shimFaked                   // The fake shim misbehaves.
)

// effect is one effect of a fault.
type effect struct {
	kind kind
	from time.Time
	to   time.Time // the zero time: until the end
	pid  int       // the process; 0: unknown, or several
}

func (e effect) gap() event.Gap { return event.Gap{From: e.from, To: e.to} }

// effectsOf returns the effects of a kind.
func (h *run) effectsOf(is kind) iter.Seq[effect] {
	return func(yield func(effect) bool) {
		for _, e := range h.effects {
			if e.kind == is && !yield(e) {
				return
			}
		}
	}
}

// effectsOf returns the effects of all faults in a history.
func effectsOf(h *run) []effect {
	all := append(effectsOfPlan(h), effectsOfHits(h)...)
	if len(h.Case.Misbehaviours()) > 0 {
		all = append(all, effect{kind: shimFaked})
	}
	if !h.Case.Faultless() {
		all = append(all, effect{kind: anyFault})
	}
	if h.Case.Plan.OfNode() {
		all = append(all, effect{kind: nodePlanned})
	}
	for _, at := range h.Reboots {
		all = append(all, effect{kind: nodeRebooted, from: at, to: at})
	}
	for n, d := range h.Deaths {
		down := effect{kind: containerdDown, from: diedAt(h, d)}
		switch {
		case d.BackIn > 0:
			down.to = d.At.Add(d.BackIn)
		case n+1 < len(h.Deaths): // it exited before it responded
			down.to = h.Deaths[n+1].At
		}
		all = append(all, down)
		if d.Asked {
			all = append(all, effect{kind: containerdEnds, from: d.At.Add(-d.After), to: d.At})
		}
		if d.Killed || !d.Asked {
			all = append(all, effect{kind: containerdLost, from: d.At, to: d.At, pid: d.PID})
		}
	}
	for _, k := range h.Kills {
		if k.Who != "containerd" {
			all = append(all, effect{kind: processKilled, from: k.At, to: k.At, pid: k.PID})
		}
		if k.Who == "shim" {
			all = append(all, effect{kind: shimKilled, from: k.At, to: k.At, pid: k.PID})
		}
	}
	for _, g := range h.Gaps {
		all = append(all, effect{kind: notSubscribed, from: g.From, to: g.To})
	}
	for _, s := range h.Stops {
		all = append(all, effect{kind: frozen, from: s.From, to: soonest(s.To, diedWithin(h, event.Gap(s)))})
	}
	return all
}

// effectsOfPlan returns the effects that no hit records. Only the plan shows them.
func effectsOfPlan(h *run) (all []effect) {
	keeping := []term.Action{term.Hang, term.Lose, term.Stop, term.Cancel, term.Pause, term.Delay}
	for n, f := range h.Case.Plan {
		var from time.Time
		if at := slices.IndexFunc(h.Firings, func(of harness.Firing) bool { return of.Fault == n }); at >= 0 {
			from = h.Firings[at].At
		}
		add := func(is bool, kind kind, from time.Time) {
			if is {
				all = append(all, effect{kind: kind, from: from})
			}
		}
		do, hasNoHits := f.Do.At(1).Action, !f.At.Kind.Probed()
		stops := func(who string) bool {
			return slices.ContainsFunc(f.Meanwhile, func(s failpoints.Step) bool {
				return s.Verb == "stop" && (who == "" || s.Who == who)
			})
		}
		add(hasNoHits && f.At.Kind != failpoints.Proc, kernelSlow, from)
		add(hasNoHits && f.At.Kind == failpoints.Proc, procFault, from)
		add(hasNoHits && do != term.Kill || stops(""), slowed, time.Time{})
		add(f.At.Who == "containerd" && do == term.Stop || stops("containerd"), containerdFroze, time.Time{})
		add(toShims(f), shimPlanned, time.Time{})
		add(toShims(f) && !killedByTerm(do) && do != term.Kill, shimBroken, time.Time{})
		add(slices.ContainsFunc(f.Do.Clauses(), func(c term.Clause) bool {
			return slices.Contains(keeping, c.Action)
		}), responseKept, time.Time{})
	}
	if h.Case.RootDisk() > 0 {
		all = append(all, effect{kind: diskSlow})
	}
	return all
}

// effectsOfHits returns the effects of faults that probes injected.
func effectsOfHits(h *run) (all []effect) {
	holding := []term.Action{term.Pause, term.Delay, term.Hang, term.Stop}
	for n := range h.Hits {
		hit := &h.Hits[n] // no copy, because a history can have 100,000 hits
		if hit.Who == "shim" && (hit.Held > 0 || slices.Contains(holding, hit.Did)) {
			held := effect{kind: shimHeld, from: hit.Time, pid: hit.PID}
			if hit.Held > 0 { // only a pause records its end
				held.to = hit.Time.Add(hit.Held)
			}
			all = append(all, held)
		}
		add := func(is kind) { all = append(all, effect{kind: is, from: hit.Time, to: hit.Time, pid: hit.PID}) }
		if hit.Who == "shim" && killedByTerm(hit.Did) {
			add(shimKilled)
		}
		if hit.Fault < 0 {
			continue
		}
		is := callBroken
		switch {
		case killedByTerm(hit.Did):
			is = crashed
		case holds(hit.Did):
			is = callHeld
		case hit.ParsedPoint().Kind == failpoints.Stmt:
			is = statementBroken
		}
		if add(is); is != crashed && breaksEvents(hit) {
			add(eventBroken)
		}
		if hit.Who == "containerd" && hit.Did == term.Lose {
			add(responseDropped)
		}
	}
	return all
}

// forward is the method by which a shim sends an event to containerd.
const forward = "Events.Forward"

// breaksEvents reports whether a fault may have kept a shim from sending an event. A
// fault that only refuses or drops the event does not, because the shim sends it again.
func breaksEvents(hit *failpoints.Hit) bool {
	again := []term.Action{term.Off, term.Error, term.Lose}
	point := hit.ParsedPoint()
	return point.Kind == failpoints.Stmt || point.What == forward && !slices.Contains(again, hit.Did)
}

// holds reports whether an action at most delays its call.
func holds(did term.Action) bool {
	return slices.Contains([]term.Action{"", term.Pause, term.Delay, term.Off}, did)
}

// killedByTerm reports whether an action ends its process.
func killedByTerm(do term.Action) bool { return do == term.Crash || do == term.Panic }

// toShims reports whether a fault, or one of its steps, may target a shim.
func toShims(f failpoints.Fault) bool {
	return !slices.Contains([]string{"containerd", "task"}, f.At.Who) ||
		slices.ContainsFunc(f.Meanwhile, func(s failpoints.Step) bool { return s.Who == "shim" })
}

// rebootIn reports whether the node rebooted between two times; the zero time stands for
// the end.
func rebootIn(h *run, from, to time.Time) bool {
	return slices.ContainsFunc(h.Reboots, func(at time.Time) bool { return !at.Before(from) && harness.Within(at, to) })
}

// heldUntil returns when the last pause of shims ended. ends is false if one of them did
// not end.
func heldUntil(h *run, shims map[int]bool) (last time.Time, ends bool) {
	for e := range h.effectsOf(shimHeld) {
		switch {
		case !shims[e.pid]:
		case e.to.IsZero():
			return time.Time{}, false
		default:
			last = latest(last, e.to)
		}
	}
	return last, true
}

// mayHaveBegun reports whether a fault may have happened by a hit. A fault without hits
// may have.
func mayHaveBegun(h *run, by failpoints.Hit) bool {
	return by.Fault >= 0 || slices.ContainsFunc(h.effects, func(e effect) bool {
		return (e.kind == kernelSlow || e.kind == procFault) && !e.from.After(by.Time)
	})
}

// faultAt returns when the first fault may have changed a container. ok is false if there
// is no such fault. The time is zero if it is unknown.
func faultAt(h *run, container int) (first time.Time, ok bool) {
	for n := range h.Case.Plan {
		if ofAnotherShim(h, n, container) {
			continue
		}
		var at time.Time
		if m := slices.IndexFunc(h.Firings, func(f harness.Firing) bool { return f.Fault == n }); m >= 0 {
			at = h.Firings[m].At
		}
		if !ok || at.Before(first) {
			first, ok = at, true
		}
	}
	return first, ok
}

// ofAnotherShim reports whether a fault acted only on shims of other containers.
func ofAnotherShim(h *run, fault, container int) bool {
	at := map[int]bool{} // the processes on which the fault acted
	for _, f := range h.Firings {
		if f.Fault == fault && f.PID != 0 {
			at[f.PID] = true
		}
	}
	own, others := map[int]bool{}, map[int]bool{} // the shims that served these containers
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Fault == fault {
			at[hit.PID] = true
		}
		if of, named := harness.ObjectNamed(hit.ID); named && hit.Who == "shim" {
			own[hit.PID] = own[hit.PID] || of.Container == container
			others[hit.PID] = others[hit.PID] || of.Container != container
		}
	}
	for pid := range at {
		if own[pid] || !others[pid] {
			return false
		}
	}
	return len(at) > 0 && !slices.ContainsFunc(h.Case.Plan[fault].Meanwhile, func(s failpoints.Step) bool {
		return slices.Contains([]string{"call", "containerd", "task", "sandbox"}, s.Who) && s.Verb != "ask"
	})
}

// soonest returns the earlier of two times; the zero time stands for never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// killsShimOf reports whether an effect is the death of a shim that served a container,
// before the second use of the first id. If no shim of the container has a probe, it may
// be any shim.
func (h *run) killsShimOf(e effect, id string) bool {
	return e.kind == shimKilled && harness.Within(e.from, h.Done) && (len(h.shimsOf[id]) == 0 || h.shimsOf[id][e.pid])
}

// shimDied reports whether a shim that served a container died before a time.
func shimDied(h *run, id string, by time.Time) bool {
	return slices.ContainsFunc(h.effects, func(e effect) bool { return h.killsShimOf(e, id) && e.from.Before(by) })
}
