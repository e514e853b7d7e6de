package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// startCutOff makes the payload run, and be killed at an unknown time. Its Start fails,
// from 15 to 26. The client removes the container at 35.
func startCutOff(h *harness.History) {
	killedByNobody(h)
	h.Exits = nil
	reportedToNobody(h)
	i := &h.Instances[0]
	i.PID, i.Started, i.Reported = 0, time.Time{}, false
	h.Hits = append(h.Hits, hit(startExit, 24, nil))
	h.Flushed.Hits++
	h.Calls = []harness.Call{
		{Who: "client", Verb: "start", Of: "c0", At: at(15), Took: 11 * time.Millisecond, Err: failed("Unavailable", "EOF")},
		{Who: "client", Verb: "remove", Of: "c0", At: at(35)},
	}
}

// shimAnswers adds the shim's response to Start at a time, and shimFails one with an
// error.
func shimAnswers(ms int) func(*harness.History) {
	return func(h *harness.History) { h.Hits[3].Time = at(ms) }
}

func shimFails(h *harness.History) { h.Hits[3].Err = "no init" }

// brokenAt moves the fault to a time. shimDies adds the death of the shim, and killsAt a
// SIGKILL of the client.
func brokenAt(ms int) func(*harness.History) {
	return func(h *harness.History) { h.Hits[2].Time = at(ms) }
}

func shimDies(h *harness.History) { kill(h, "shim", 42) }

func killsAt(ms int) func(*harness.History) {
	return func(h *harness.History) { h.Signals = sigkill(ms) }
}

// callsKill adds a Kill call of the client.
func callsKill(ms int) func(*harness.History) {
	return func(h *harness.History) {
		h.Calls = append(h.Calls, harness.Call{Who: "client", Verb: "kill", Of: "c0", At: at(ms)})
	}
}

// gone records that at a time no process of the container was left.
func gone(ms int) func(*harness.History) {
	return func(h *harness.History) { h.Instances[0].Gone = at(ms) }
}

// containerdKilled adds a kill of containerd at 25, the time of every [kill].
func containerdKilled(h *harness.History) {
	kill(h, "containerd", 9)
	h.Deaths = append(h.Deaths, daemon.Death{PID: 9, At: at(26), Killed: true, BackIn: time.Millisecond})
}

// containerdRestarts adds a restart of containerd on request at 26.
func containerdRestarts(h *harness.History) {
	h.Deaths = append(h.Deaths, daemon.Death{PID: 9, At: at(26), Asked: true, BackIn: time.Millisecond})
}

// A restarted containerd lets a running container run, even if the containerd before did
// not respond to its Start.
func TestEndsOfWhatWasStartedInVain(t *testing.T) {
	died := also(startCutOff, containerdKilled)
	for name, tc := range map[string]struct {
		change func(*harness.History)
		killed bool
	}{
		"gone before it was removed":           {also(died, gone(34)), true},
		"removed while it ran":                 {died, false},
		"containerd was asked to end":          {also(startCutOff, containerdRestarts, gone(34)), false},
		"gone when it was removed":             {also(died, gone(36)), false},
		"its Start failed and was undone":      {also(startCutOff, gone(34)), false},
		"containerd ended after its answer":    {also(died, gone(34), answeredAfter(5)), false},
		"its shim was not done with it":        {also(died, gone(34), shimAnswers(26)), false},
		"its shim has failed":                  {also(died, gone(34), shimFails), false},
		"something had failed before":          {also(died, gone(34), brokenAt(16)), false},
		"its shim was killed":                  {also(died, gone(34), shimDies), false},
		"the client had sent SIGKILL":          {also(died, gone(34), killsAt(30)), false},
		"SIGKILL came too late":                {also(died, gone(34), killsAt(36)), true},
		"what the client was to kill":          {also(died, gone(34), toBeKilled), true},
		"and has killed":                       {also(died, gone(34), toBeKilled, killsAt(31), callsKill(30)), false},
		"and has, though the answer came late": {also(died, gone(34), toBeKilled, killsAt(36), callsKill(30)), false},
		"and has, though the answer was lost":  {also(died, gone(34), toBeKilled, callsKill(30)), false},
		"and called for when it was gone":      {also(died, gone(34), toBeKilled, callsKill(35)), true},
		"and has removed":                      {also(died, gone(36), toBeKilled), false},
		"what the client was to stop":          {toBeStopped, true},
		"and has stopped":                      {also(toBeStopped, callsKill(29)), false},
		"started, and seen gone": {also(startCutOff, gone(34), func(h *harness.History) {
			h.Instances[0].Started = at(20)
		}), true},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			tc.change(&h)
			v := Judge(h, catalogued)
			killed := slices.ContainsFunc(v.Findings, func(f finding.Finding) bool {
				return f.Class == finding.ClassEnd && f.Facts[fact.Status] == fact.Killed
			})
			if killed != tc.killed {
				t.Errorf("killed by nobody: %t, want %t\n%s", killed, tc.killed, v)
			}
		})
	}
}

// A stock shim has no probes, but the shim of the id's second use has. The hits of this
// shim do not mean that no other shim served the container.
func TestEndsBehindAShimWithoutProbes(t *testing.T) {
	h := clean()
	killedByNobody(&h)
	h.Hits, h.Flushed.Hits = nil, 0
	h.Hits = append(h.Hits, hit(createEntry, 60, func(h *failpoints.Hit) { h.PID = 99 }))
	if found, _ := ends(runOf(&h)); len(found) != 1 {
		t.Errorf("nothing has killed it: %v", found)
	}
	kill(&h, "shim", 42)
	if found, _ := ends(runOf(&h)); len(found) != 0 {
		t.Errorf("its shim was killed: %v", found)
	}
}

// The kernel may have killed the init together with the child that exceeded the memory
// limit.
func TestEndsOfAChildsOOM(t *testing.T) {
	for kills, want := range map[int]bool{0: true, 1: true, 2: false} {
		h := clean()
		plain(&h)
		i := &h.Instances[0]
		i.Spec.OOM, i.Spec.Memory, i.OOMKills = harness.OOMChild, 32, &kills
		i.Payload.Exited, i.Payload.HoggedAt = false, at(25)
		h.Exits[0].Code = killed
		if found, _ := ends(runOf(&h)); len(found) > 0 != want {
			t.Errorf("%d kills: %v", kills, found)
		}
	}
}

// A call that removes all containers does not excuse the end of a later container, in the
// next round of a crash loop.
func TestCallsOfAnEarlierRoundKillNobody(t *testing.T) {
	for name, tc := range map[string]struct {
		call   harness.Call
		killed bool
	}{
		"it had succeeded before":   {harness.Call{At: at(-20), Took: 19 * time.Millisecond}, true},
		"it was under way":          {harness.Call{At: at(-20), Took: 21 * time.Millisecond}, false},
		"it had failed before":      {harness.Call{At: at(-20), Err: failed("DeadlineExceeded", "late")}, false},
		"it came while it ran":      {harness.Call{At: at(28)}, false},
		"it is of another, by name": {harness.Call{Of: "c1", At: at(28)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			killedByNobody(&h)
			tc.call.Who, tc.call.Verb = "client", "RemoveContainer"
			h.Calls = []harness.Call{tc.call}
			if killed := says(Judge(h, catalogued), "end end status=killed") == ""; killed != tc.killed {
				t.Errorf("killed by nobody: %t, want %t\n%s", killed, tc.killed, Judge(h, catalogued))
			}
		})
	}
}

// toBeKilled and toBeStopped make the client end the container with SIGKILL, and with
// SIGTERM.
func toBeKilled(h *harness.History) { h.Instances[0].Spec = harness.Container{Signal: "SIGKILL"} }

func toBeStopped(h *harness.History) {
	end(h, 143)
	h.Instances[0].Spec = harness.Container{Signal: "SIGTERM"}
}

// answeredAfter makes Start take some time.
func answeredAfter(ms int) func(*harness.History) {
	return func(h *harness.History) { h.Calls[0].Took = time.Duration(ms) * time.Millisecond }
}
