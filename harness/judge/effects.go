package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
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

// effectsOf returns the effects of all faults in a history.
func effectsOf(h *run) []effect {
	all := append(effectsOfPlan(h), effectsOfHits(h)...)
	if len(h.Case.Misbehaviours()) > 0 {
		all = append(all, effect{kind: shimFaked})
	}
	for _, g := range h.downs {
		all = append(all, effect{kind: containerdDown, from: g.From, to: g.To})
	}
	for _, d := range h.Deaths {
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
	}
	for _, k := range h.shimDeaths {
		all = append(all, effect{kind: shimKilled, from: k.At, to: k.At, pid: k.PID})
	}
	for _, s := range h.Stops {
		all = append(all, effect{kind: frozen, from: s.From, to: soonest(s.To, diedWithin(h, s))})
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
		all = append(all, effect{kind: is, from: hit.Time, to: hit.Time, pid: hit.PID})
	}
	return all
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

// diedWithin returns when containerd died while it was frozen, or the zero time.
func diedWithin(h *run, s harness.Stop) time.Time {
	for _, d := range h.Deaths {
		if d.At.After(s.From) && (s.To.IsZero() || d.At.Before(s.To)) {
			return d.At
		}
	}
	return time.Time{}
}

// downs returns the times in which containerd was down. A restarted containerd may exit
// before it responds. Then a new downtime begins with its exit.
func downs(h *harness.History) (all []event.Gap) {
	for n, d := range h.Deaths {
		down := event.Gap{From: diedAt(h, d)}
		switch {
		case d.BackIn > 0:
			down.To = d.At.Add(d.BackIn)
		case n+1 < len(h.Deaths):
			down.To = h.Deaths[n+1].At
		}
		all = append(all, down)
	}
	return all
}

// endSeenIn is how long the harness may take to see the exit of a containerd that
// panicked or crashed. It takes some 20 ms. A containerd that lived longer did not die of
// the panic or crash.
const endSeenIn = time.Second

// diedAt returns when a containerd died: at the fault that killed it, or else when the
// harness saw its exit.
func diedAt(h *harness.History, d daemon.Death) time.Time {
	if d.Asked {
		return d.At
	}
	at := d.At
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Who == "containerd" && hit.PID == d.PID && killedByTerm(hit.Did) && hit.Time.Before(d.At) &&
			d.At.Sub(hit.Time) < endSeenIn {
			at = hit.Time
		}
	}
	return at
}

// downBetween reports whether containerd was down at some time between two others.
func downBetween(h *run, from, to time.Time) bool {
	return slices.ContainsFunc(h.downs, func(g event.Gap) bool { return g.Overlaps(from, to) })
}

// upSince returns when containerd last came up between two times. If it did not, upSince
// returns the first time.
func upSince(h *run, from, to time.Time) time.Time {
	for _, g := range h.downs {
		if g.To.After(from) && !g.To.After(to) {
			from = g.To
		}
	}
	return from
}

// gaps returns the times in which the harness was not subscribed: the gaps in its
// subscription, and the times in which containerd was down. The gaps are not enough,
// because the subscriber may see the end of its stream later than containerd's exit.
func gaps(h *run) []event.Gap { return slices.Concat(h.downs, h.Gaps) }

// rebootIn reports whether the node rebooted between two times; the zero time stands for
// the end.
func rebootIn(h *run, from, to time.Time) bool {
	return slices.ContainsFunc(h.Reboots, func(at time.Time) bool { return !at.Before(from) && harness.Within(at, to) })
}

// shimDeaths returns the deaths of shims by SIGKILL or by a panic.
func shimDeaths(h *harness.History) (all []harness.Kill) {
	for n := range h.Hits {
		if hit := &h.Hits[n]; hit.Who == "shim" && killedByTerm(hit.Did) {
			all = append(all, harness.Kill{PID: hit.PID, Who: hit.Who, At: hit.Time})
		}
	}
	for _, k := range h.Kills {
		if k.Who == "shim" {
			all = append(all, k)
		}
	}
	return all
}

// shimKills returns the deaths of shims before the second use of the first id.
func shimKills(h *run) []harness.Kill {
	return slices.DeleteFunc(slices.Clone(h.shimDeaths), func(k harness.Kill) bool {
		return !h.Done.IsZero() && k.At.After(h.Done)
	})
}

// shimKillsOf returns the deaths of shims that served a container. If no shim of the id's
// first use has a probe, it returns the deaths of all shims.
func shimKillsOf(h *run, id string) []harness.Kill {
	_, first, _ := h.FirstUse()
	if len(shimsOf(first, id)) == 0 {
		return shimKills(h)
	}
	served := shimsOf(h.Hits, id)
	return slices.DeleteFunc(shimKills(h), func(k harness.Kill) bool { return !served[k.PID] })
}

// shimsOf returns the pids of the shims that received calls about a container, as far as
// they have probes.
func shimsOf(hits []failpoints.Hit, id string) map[int]bool {
	served := map[int]bool{}
	for n := range hits {
		if hits[n].Who == "shim" && hits[n].ID == id {
			served[hits[n].PID] = true
		}
	}
	return served
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
