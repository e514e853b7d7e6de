package judge

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// livedUntil is a time at which the payload of a container was alive, and what it did.
func livedUntil(h *harness.History, i harness.Instance) (at time.Time, what string) {
	if blow := firstBlow(h, i); !blow.IsZero() && blow.After(began(i)) {
		return blow, "the client was about to kill it"
	}
	switch p := i.Payload; {
	case p.Exited:
		return p.ExitedAt, "its payload was about to exit"
	case !p.ChildAt.IsZero():
		return p.ChildAt, "its payload has seen its child end"
	case !p.HoggedAt.IsZero():
		return p.HoggedAt, "its payload was about to run out of memory"
	case !p.ReadyAt.IsZero():
		return p.ReadyAt, "its payload ran"
	case p.Runs > 0:
		return p.StartedAt, "its payload began"
	}
	return i.Begun, "it was asked for"
}

// began is when a payload is known to have run.
func began(i harness.Instance) time.Time {
	if i.Payload.ReadyAt.IsZero() {
		return i.Payload.StartedAt
	}
	return i.Payload.ReadyAt
}

// firstBlow is when the client first asked for what ends a payload that SIGKILL has
// ended; the zero time: somebody else may have killed it before. The call counts, not its
// answer: a signal may have been sent long before that, and lost its answer.
func firstBlow(h *harness.History, i harness.Instance) (first time.Time) {
	other := func(k harness.Kill) bool { return k.Who != "containerd" }
	if i.Payload.Exited || i.Payload.Runs == 0 || killSent(h, i).IsZero() ||
		slices.ContainsFunc(h.Kills, other) || len(shimKills(h)) > 0 {
		return time.Time{}
	}
	ignored := lastSent(h, i, unix.SIGTERM) // the payload ends by itself at one that it does not ignore
	for _, c := range h.Calls {
		blow := isCall(c, i, ending) && (c.Verb != "kill" || !c.At.Before(ignored))
		if blow && (first.IsZero() || c.At.Before(first)) {
			first = c.At
		}
	}
	return first
}

// killSent is when the client last sent SIGKILL to a container; the zero time: it did
// not.
func killSent(h *harness.History, i harness.Instance) time.Time { return lastSent(h, i, unix.SIGKILL) }

func lastSent(h *harness.History, i harness.Instance, signal unix.Signal) (last time.Time) {
	for _, s := range h.Signals {
		if s.Container == i.ID && s.Signal == int(signal) && s.At.After(last) {
			last = s.At
		}
	}
	return last
}

// reapIn is how long a shim may take until it has reaped a container's init and taken the
// time, on a machine that has other things to do: it kills first what the init has left
// behind, by a run of runc. It takes 1 to 20 ms, and at a load of 60 a second or two.
const reapIn = 5 * time.Second

// endedBy is the latest time that who saw a container end can take for that; the zero
// time: it is not known when it ended, or whoever tells may not have seen it, or was
// held.
func endedBy(h *harness.History, i harness.Instance) time.Time {
	if held(h, i) {
		return time.Time{}
	}
	end := endOf(h, i)
	if end.IsZero() {
		if end = killSent(h, i); h.CRI != nil { // CRI's client asks for a stop, and that may fail
			end, _ = stoppedAt(h, i)
		}
	}
	if end.IsZero() {
		return end
	}
	return end.Add(reapIn)
}

// stoppedAt is when a container's stop was first answered with success by CRI, its own or
// its pod's: it has ended by then.
func stoppedAt(h *harness.History, i harness.Instance) (time.Time, bool) {
	if h.CRI == nil {
		return time.Time{}, false
	}
	return h.CRI.When(stopVerb(i), i.ID)
}

// stopVerb is the call that stops a container.
func stopVerb(i harness.Instance) string {
	if i.WithPod {
		return "StopPodSandbox"
	}
	return "StopContainer"
}

// exitDue is when a container had ended at the latest, so that its exit is due: what its
// payload, the world's init or the harness know, or else when the client had killed it,
// or when it was seen to be gone. What containerd answers about the end is of no matter.
func exitDue(h *harness.History, i harness.Instance) time.Time {
	if end := endOf(h, i); !end.IsZero() {
		return end
	}
	switch sent := killSent(h, i); {
	case looked(h) && runsStill(h, i): // a signal that a fault has kept from it
		return time.Time{}
	case !sent.IsZero():
		return sent
	case looked(h):
		return h.After.At
	}
	return time.Time{}
}

// runsStill reports whether a process of a container is there at the look.
func runsStill(h *harness.History, i harness.Instance) bool {
	return slices.ContainsFunc(h.After.Inventory.Processes, func(p inventory.Process) bool {
		return !p.Zombie() && (i.PID != 0 && p.PID == int(i.PID) || strings.HasSuffix(p.Cgroup, "/"+i.ID))
	})
}
