package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// ends: a container ends as its workload says, unless the client, a fault or its shim's
// death killed it. Without this rule any end would become the truth for other reports.
func ends(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		t, ran, err := truth(h, i)
		fs := fact.Facts{
			fact.Want: fmt.Sprint(i.Spec.Want()), fact.True: fmt.Sprint(t.Status), fact.Source: t.Source,
		}
		switch {
		case err != nil || i.ID == "" || (!ran || t.Status == killed) && mayBeKilled(h, i):
			continue
		case !ran && !i.Started.IsZero():
			fs = fact.Facts{fact.Status: fact.NeverBegan}
		case !ran || t.Status == i.Spec.Want() && !killedOtherwise(h, i):
			continue
		case t.Status == killed || t.Status == i.Spec.Want():
			fs[fact.Status] = fact.Killed
		default:
			fs[fact.Status] = fact.Wrong
		}
		found = append(found, finding.Finding{
			Invariant: finding.End, Class: finding.ClassEnd, Subject: finding.Subject{ID: i.ID, PID: int(i.PID)}, Facts: fs,
		})
	}
	return circumstances(h, found), nil
}

// killedOtherwise reports whether somebody else has ended a container as it was to end:
// one that was to be OOM-killed was killed before its init has taken too much, or the
// kernel has not counted that it did it; one that the client was to end, before it did.
func killedOtherwise(h *harness.History, i harness.Instance) bool {
	if i.Spec.OOM == harness.OOMInit {
		return i.Payload.HoggedAt.IsZero() || !mayBeCounted(i)
	}
	return i.Spec.Signal != "" && !called(h, i, ending)
}

// mayBeKilled reports whether somebody who may do so may have killed a container: a
// fault, the client, or containerd when it cleans up behind a dead shim or a start that
// has failed.
func mayBeKilled(h *harness.History, i harness.Instance) bool {
	undone := i.Started.IsZero() && !diedStarting(h, i)
	return undone || faultKilled(h, i) || clientKilled(h, i) || killedWithChild(i) || len(h.Case.Misbehaviours()) > 0
}

// killedWithChild reports whether the kernel has OOM-killed more than the child of a
// container: on a busy machine the child's memory may not be free yet when it has been
// killed, and the next is the init.
func killedWithChild(i harness.Instance) bool {
	return i.Spec.OOM == harness.OOMChild && i.OOMKills != nil && *i.OOMKills > 1
}

// diedStarting reports whether it was the end of containerd, and nothing before it, that
// cut the client's Start of a container off when its shim had done it: who would have
// rolled it back has gone, and who comes next finds a container that runs. One that its
// shim has not done yet is cut off with it, and is called created for good.
func diedStarting(h *harness.History, i harness.Instance) bool {
	for _, c := range slices.Backward(h.Calls) {
		if c.Who != "client" || c.Of != i.Name || harness.PathOf(c.Verb) != "start" {
			continue
		}
		done, answered := startedByShim(h, i.ID), c.At.Add(c.Took)
		return c.Err != nil && !done.IsZero() && !brokenOrKilled(h, answered) && endedBetween(h, done, answered)
	}
	return false
}

// startedByShim is when a shim has started a container; the zero time: none says so.
func startedByShim(h *harness.History, id string) time.Time {
	for _, hit := range h.Hits {
		if hit.Who == "shim" && hit.ID == id && hit.Point == "rpc:shim:Task.Start:exit" && hit.Err == "" {
			return hit.Time
		}
	}
	return time.Time{}
}

// endedBetween reports whether a fault has ended containerd in a time.
func endedBetween(h *harness.History, from, to time.Time) bool {
	in := func(t time.Time) bool { return !t.Before(from) && !t.After(to) }
	return slices.ContainsFunc(h.Kills, func(k harness.Kill) bool { return k.Who == "containerd" && in(k.At) }) ||
		slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
			return hit.Who == "containerd" && killedByTerm(hit.Did) && in(hit.Time)
		})
}

// killing are the client's calls that end a container which still runs, and ending those
// and the ones that end it with a signal.
var (
	killing = []string{"remove", "StopPodSandbox", "RemovePodSandbox", "RemoveContainer"}
	ending  = append(slices.Clone(killing), "kill", "StopContainer")
)

// clientKilled reports whether the client has sent SIGKILL to a container, or begun a
// call that kills it, before it ended. The answer to a signal may come later than that.
func clientKilled(h *harness.History, i harness.Instance) bool {
	sent, over := killSent(h, i), overBy(h, i)
	inTime := over.IsZero() || sent.Before(over) || called(h, i, ending)
	return !sent.IsZero() && inTime || called(h, i, killing)
}

// called reports whether the client has begun one of some calls about a container before
// it ended.
func called(h *harness.History, i harness.Instance, verbs []string) bool {
	over := overBy(h, i)
	return slices.ContainsFunc(h.Calls, func(c harness.Call) bool {
		return isCall(c, i, verbs) && (over.IsZero() || c.At.Before(over))
	})
}

// isCall reports whether a call is one of some about a container, or about all that there
// were: one that has succeeded before a container was asked for, in an earlier round of a
// crash loop, was not about that.
func isCall(c harness.Call, i harness.Instance, verbs []string) bool {
	return slices.Contains(verbs, c.Verb) && (c.Of == "" || c.Of == i.Name || c.Of == i.ID) &&
		(c.Err != nil || !c.At.Add(c.Took).Before(i.Begun))
}

// overBy is a time by which a container had ended: its end, where that is known, or else
// when somebody first heard of it, or saw it gone.
func overBy(h *harness.History, i harness.Instance) time.Time {
	over := endOf(h, i)
	earlier := func(t time.Time) {
		if !t.IsZero() && (over.IsZero() || t.Before(over)) {
			over = t
		}
	}
	earlier(i.Waited)
	earlier(i.Gone)
	for _, e := range h.Events {
		if e.Container == i.ID && e.Exec == "" && e.Topic == event.TopicExit {
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
