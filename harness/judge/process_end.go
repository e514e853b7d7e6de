package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// reapIn is how long a shim may take to reap an init and to note the time. It first kills
// the other processes of the container with a run of runc. That takes 1 to 20 ms, and a
// second or two at a load of 60.
const reapIn = 5 * time.Second

// exitWindow returns the possible times of the end of a process: it was alive at from,
// and its shim noticed its end by to. If to is zero, the shim may have noticed it later.
func (p process) exitWindow() (from, to time.Time) {
	from, _ = livedUntil(p.h, p.i)
	to = endedBy(p.h, p.i)
	endedWithInit := p.e != nil && p.e.Held && !toleratedOf(p.h, processLives, p.i, span{})
	switch {
	case p.e == nil:
		return from, to
	case p.e.Payload.Exited && toleratedOf(p.h, exitNoticed, p.i, span{}):
		return p.e.Payload.ExitedAt, time.Time{}
	case p.e.Payload.Exited:
		return p.e.Payload.ExitedAt, p.e.Payload.ExitedAt.Add(reapIn)
	case endedWithInit && p.i.Spec.SharedPID: // its shim ends it, not the kernel
		return from, time.Time{}
	case endedWithInit:
		return from, to
	}
	return p.e.Begun, time.Time{} // a signal ended it alone, or the time is unknown
}

// over returns a time by which the process had ended: the end of an init, or the first
// report that it had ended. For an exec it returns the exec's own end, or that of its
// container. The time is zero if the process did not run, or if its end is unknown.
func (p process) over() time.Time {
	switch e := p.e; {
	case e == nil:
		return overBy(p.h, p.i)
	case e.Payload.Exited:
		return e.Payload.ExitedAt
	case e.Timed(), e.Stays:
		return e.Waited
	case e.Payload.Runs == 0 || !e.Held:
		return time.Time{}
	}
	return exitDue(p.h, p.i)
}

// livedUntil returns the last known time at which the payload of a container was alive,
// and what happened then.
func livedUntil(h *run, i harness.Instance) (at time.Time, what string) {
	ran := cmp.Or(i.Payload.ReadyAt, i.Payload.StartedAt)
	if kill := firstKillRequest(h, i); !kill.IsZero() && kill.After(ran) {
		return kill, "the client was about to kill it"
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

// firstKillRequest returns the time of the client's first request that kills a payload,
// if SIGKILL ended it. The time is zero if another process may have killed it before. An
// example is containerd after a failed start. The time of the response is no use: the
// signal may be sent long before, and the response may be lost.
func firstKillRequest(h *run, i harness.Instance) (first time.Time) {
	undone := i.Started.IsZero() && !diedStarting(h, i)
	if i.Payload.Exited || i.Payload.Runs == 0 || undone || lastSent(h, i, unix.SIGKILL).IsZero() ||
		tolerated(h, onlyClientKills, span{}) {
		return time.Time{}
	}
	ignored := lastSent(h, i, unix.SIGTERM) // a payload that does not ignore it ends by itself
	for _, c := range h.Calls {
		kills := isCall(c, i, ending) && (c.Verb != "kill" || !c.At.Before(ignored))
		if kills && (first.IsZero() || c.At.Before(first)) {
			first = c.At
		}
	}
	return first
}

// lastSent returns when the client last sent a signal to a container, or the zero time.
func lastSent(h *run, i harness.Instance, signal unix.Signal) (last time.Time) {
	for _, s := range h.Signals {
		if s.Container == i.ID && s.Signal == int(signal) && s.At.After(last) {
			last = s.At
		}
	}
	return last
}

// killedBefore reports whether the client had sent SIGKILL to a container by a time.
func killedBefore(h *run, i harness.Instance, t time.Time) bool {
	return slices.ContainsFunc(h.Signals, func(s harness.SentSignal) bool {
		return s.Container == i.ID && s.Signal == int(unix.SIGKILL) && s.At.Before(t)
	})
}

// endOf returns when a container ended, as its payload, the world's init or the harness
// that killed it has recorded. Reports of containerd do not count. The time is zero if
// the end is unknown.
func endOf(h *run, i harness.Instance) time.Time {
	switch {
	case i.Payload.Exited:
		return i.Payload.ExitedAt
	case i.PID == 0:
		return time.Time{}
	}
	for _, e := range h.Exits {
		if e.PID == int(i.PID) {
			return e.At
		}
	}
	return killOf(h, i.PID)
}

// overBy returns a time by which a container had ended: its end, or else the first report
// that it had ended or was gone.
func overBy(h *run, i harness.Instance) time.Time {
	over := soonest(soonest(endOf(h, i), i.Waited), i.Gone)
	for _, e := range h.Events {
		if e.Container == i.ID && e.Exec == "" && e.Topic == event.TopicExit {
			over = soonest(over, e.Seen)
		}
	}
	return over
}

// endedBy returns the latest time that an observer of a container's end can report. The
// time is zero if its end is unknown, or if its shim may have noticed it late.
func endedBy(h *run, i harness.Instance) time.Time {
	if toleratedOf(h, exitNoticed, i, span{}) {
		return time.Time{}
	}
	end := endOf(h, i)
	switch {
	case !end.IsZero():
	case h.CRI != nil: // CRI's client asks for a stop, and that may fail
		end, _ = stoppedAt(h, i)
	default:
		end = lastSent(h, i, unix.SIGKILL)
	}
	if end.IsZero() {
		return end
	}
	return end.Add(reapIn)
}

// exitDue returns when a container had ended at the latest: its end, or the client's
// SIGKILL, or when its processes were gone. Its exit event is due then. Responses of
// containerd do not count.
func exitDue(h *run, i harness.Instance) time.Time {
	if end := endOf(h, i); !end.IsZero() {
		return end
	}
	switch sent := lastSent(h, i, unix.SIGKILL); {
	case looked(h) && runsStill(h, i): // a fault dropped the signal
		return time.Time{}
	case !sent.IsZero():
		return sent
	case looked(h):
		return h.After.At
	}
	return time.Time{}
}

// runsStill reports whether the final inventory has a process of a container.
func runsStill(h *run, i harness.Instance) bool {
	return slices.ContainsFunc(h.After.Inventory.Processes, func(p inventory.Process) bool {
		return !p.Zombie() && (i.PID != 0 && p.PID == int(i.PID) || strings.HasSuffix(p.Cgroup, "/"+i.ID))
	})
}

// stopVerb returns the call that stops a container: its own stop, or the stop of its pod.
func stopVerb(i harness.Instance) string {
	if i.WithPod {
		return "StopPodSandbox"
	}
	return "StopContainer"
}

// stoppedAt returns when the stop of a container by CRI first succeeded: it had ended by
// then.
func stoppedAt(h *run, i harness.Instance) (time.Time, bool) {
	if h.CRI == nil {
		return time.Time{}, false
	}
	return h.CRI.DoneAt(stopVerb(i), i.ID)
}

// stopOf returns when the client first asked for the stop of a container, and whether it
// asked once before the container was removed.
func stopOf(h *run, i harness.Instance) (at time.Time, once bool) {
	removed, gone := time.Time{}, false
	if h.CRI != nil {
		removed, gone = h.CRI.DoneAt("RemoveContainer", i.ID)
	}
	for _, c := range h.Calls {
		if gone && c.At.After(removed) {
			break // the next container with this name
		}
		if c.Verb == stopVerb(i) && (c.Of == i.Name || i.WithPod) {
			if once = at.IsZero(); once {
				at = c.At
			}
		}
	}
	return at, once
}

// The client's calls that kill a running container (killing), and those calls with the
// calls that end it by a signal (ending).
var (
	killing = []string{"remove", "StopPodSandbox", "RemovePodSandbox", "RemoveContainer"}
	ending  = append(slices.Clone(killing), "kill", "StopContainer")
)

// clientKilled reports whether the client sent SIGKILL to a container, or began a call
// that kills it, before it ended. The response may come later than the end.
func clientKilled(h *run, i harness.Instance) bool {
	sent, over := lastSent(h, i, unix.SIGKILL), overBy(h, i)
	inTime := over.IsZero() || sent.Before(over) || called(h, i, ending)
	return !sent.IsZero() && inTime || called(h, i, killing)
}

// called reports whether the client began a call with one of these verbs about a
// container before it ended.
func called(h *run, i harness.Instance, verbs []string) bool {
	over := overBy(h, i)
	return slices.ContainsFunc(h.Calls, func(c harness.Call) bool {
		return isCall(c, i, verbs) && (over.IsZero() || c.At.Before(over))
	})
}

// isCall reports whether a call has one of these verbs, and is about a container or about
// all. A call that succeeded before the client asked for the container was about an
// earlier round of a crash loop.
func isCall(c harness.Call, i harness.Instance, verbs []string) bool {
	return slices.Contains(verbs, c.Verb) && (c.Of == "" || c.Of == i.Name || c.Of == i.ID) &&
		(c.Err != nil || !c.At.Add(c.Took).Before(i.Begun))
}
