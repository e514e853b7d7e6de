package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// ends: a container ends as its workload says, unless the client or a fault has killed
// it, or its shim and with that the container. Without this whatever happened would be
// the truth that all others are compared with.
func ends(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		t, ran, err := truth(h, i)
		fs := oracle.Facts{
			oracle.FactWant: fmt.Sprint(i.Spec.Want()), oracle.FactTrue: fmt.Sprint(t.Status), oracle.FactSource: t.Source,
		}
		switch {
		case err != nil || i.ID == "" || (!ran || t.Status == killed) && mayBeKilled(h, i):
			continue
		case !ran && !i.Started.IsZero():
			fs = oracle.Facts{oracle.FactStatus: oracle.NeverBegan}
		case !ran || t.Status == i.Spec.Want() && !killedOtherwise(i):
			continue
		case t.Status == killed:
			fs[oracle.FactStatus] = oracle.Killed
		default:
			fs[oracle.FactStatus] = oracle.Wrong
		}
		found = append(found, oracle.Finding{
			Invariant: oracle.End, Class: oracle.ClassEnd, Subject: oracle.Subject{ID: i.ID, PID: int(i.PID)}, Facts: fs,
		})
	}
	return found, nil
}

// killedOtherwise reports whether a container that was to be OOM-killed was killed before
// its init has taken too much, or the kernel has not counted that it did it.
func killedOtherwise(i harness.Instance) bool {
	return i.Spec.OOM == harness.OOMInit && (i.Payload.HoggedAt.IsZero() || !mayBeCounted(i))
}

// mayBeKilled reports whether somebody who may do so may have killed a container: a
// fault, the client, or containerd when it cleans up behind a dead shim or a start that
// has failed.
func mayBeKilled(h *harness.History, i harness.Instance) bool {
	return i.Started.IsZero() || faultKilled(h, i) || clientKilled(h, i) || len(h.Case.Misbehaviours()) > 0
}

// faultKilled reports whether a fault has killed a container's init, or a shim that has
// served it.
func faultKilled(h *harness.History, i harness.Instance) bool {
	for _, k := range h.Kills {
		if i.PID != 0 && k.PID == int(i.PID) {
			return true
		}
	}
	return len(shimKillsOf(h, i.ID)) > 0
}

// shimKillsOf are the deaths of shims that have served a container; where shims have no
// probes, those of all.
func shimKillsOf(h *harness.History, id string) []harness.Kill {
	served := shimsOf(h, id)
	return slices.DeleteFunc(shimKills(h), func(k harness.Kill) bool { return len(served) > 0 && !served[k.PID] })
}

// shimsOf are the pids of the shims that were asked about a container; none where shims
// have no probes.
func shimsOf(h *harness.History, id string) map[int]bool {
	served := map[int]bool{}
	for _, hit := range h.Hits {
		if hit.Who == "shim" && hit.ID == id {
			served[hit.PID] = true
		}
	}
	return served
}

// killing are the client's calls that end a container which still runs.
var killing = []string{"remove", "StopPodSandbox", "RemovePodSandbox", "RemoveContainer"}

// clientKilled reports whether the client has sent SIGKILL to a container, or begun a
// call that ends it, before it ended.
func clientKilled(h *harness.History, i harness.Instance) bool {
	over := overBy(h, i)
	if slices.ContainsFunc(h.Signals, func(s harness.SentSignal) bool {
		return s.Container == i.ID && s.Signal == int(killed-128)
	}) {
		return true
	}
	return slices.ContainsFunc(h.Calls, func(c harness.Call) bool {
		return slices.Contains(killing, c.Verb) && (c.Of == "" || c.Of == i.Name || c.Of == i.ID) &&
			(over.IsZero() || c.At.Before(over))
	})
}

// overBy is a time by which a container had ended: its end, where that is known, or else
// when somebody first heard of it.
func overBy(h *harness.History, i harness.Instance) time.Time {
	over := endOf(h, i)
	earlier := func(t time.Time) {
		if !t.IsZero() && (over.IsZero() || t.Before(over)) {
			over = t
		}
	}
	earlier(i.Waited)
	for _, e := range h.Events {
		if e.Container == i.ID && e.Exec == "" && e.Topic == oracle.TopicExit {
			earlier(e.Seen)
		}
	}
	return over
}

// endOf is when a container ended, as its payload has noted, or else the world's init, or
// the harness that has killed it; the zero time where none of them knows. What containerd
// says is of no matter.
func endOf(h *harness.History, i harness.Instance) time.Time {
	if i.Payload.Exited {
		return i.Payload.ExitedAt
	}
	if i.PID == 0 {
		return time.Time{}
	}
	for _, e := range h.Exits {
		if e.PID == int(i.PID) {
			return e.At
		}
	}
	for _, k := range h.Kills {
		if k.PID == int(i.PID) {
			return k.At
		}
	}
	return time.Time{}
}

// killedByTerm reports whether a hit has ended its process.
func killedByTerm(do term.Action) bool { return do == term.Crash || do == term.Panic }
