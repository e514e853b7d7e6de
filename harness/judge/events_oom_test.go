package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
)

// tellsOOM adds an event about an OOM kill, after the first events.
func tellsOOM(of, namespace string, ms int) func(*harness.History) {
	return func(h *harness.History) {
		e := event.Task{Namespace: namespace, Topic: event.TopicOOM, Container: of, Seen: at(ms), Sent: at(ms)}
		h.Events = append(h.Events[:2:2], append([]event.Task{e}, h.Events[2:]...)...)
		h.Flushed.Events++
	}
}

// childKilled makes a child of the payload exceed its memory at 24, and be killed at 26,
// without a report.
func childKilled(h *harness.History) {
	i := &h.Instances[0]
	i.Spec.Memory, i.Spec.OOM = 32, harness.OOMChild
	i.Payload.HoggedAt, i.Payload.ChildAt, i.Payload.ChildStatus = at(24), at(26), 137
}

// initKilled makes the payload itself exceed its memory at 24, and be killed.
func initKilled(h *harness.History) {
	killedByNobody(h)
	i := &h.Instances[0]
	i.Spec = harness.Container{Memory: 32, OOM: harness.OOMInit}
	i.Payload = payload.Truth{Runs: 1, StartedAt: at(20), ReadyAt: at(21), HoggedAt: at(24)}
}

// forwards adds a fault at a call in which the shim sends an event to containerd.
func forwards(who string, do term.Action) func(*harness.History) {
	return func(h *harness.History) {
		h.Hits = append(h.Hits, hit("rpc:"+who+":"+forward+":entry", 26, func(h *failpoints.Hit) {
			h.Who, h.Fault, h.Did = who, 0, do
		}))
		h.Flushed.Hits++
	}
}

func TestRulesOfOOM(t *testing.T) {
	const missing = "event event event=missing topic=/tasks/oom"
	told := tellsOOM("c0", "shimquake", 27)
	judged(t, map[string]row{
		"a child's is told of":        {also(childKilled, told), ""},
		"and twice, as cgroup v1 may": {also(childKilled, told, told), ""},
		"but not v2, which counts": {also(plain, childKilled, told, told, counts(1), onV2),
			"event event event=repeated topic=/tasks/oom"},
		"once for each kill":             {also(plain, childKilled, told, told, counts(2), onV2), ""},
		"with a fault it is sent again":  {also(childKilled, told, told, counts(1), onV2), ""},
		"without any fault":              {also(plain, childKilled, told), ""},
		"a child's is not told of":       {childKilled, missing},
		"nor without any fault":          {also(plain, childKilled), missing},
		"an init's is told of":           {also(initKilled, told), ""},
		"an init's is not told of":       {initKilled, missing},
		"an init that the client killed": {also(initKilled, func(h *harness.History) { h.Signals = sigkill(25) }), ""},
		"an init whose shim died":        {also(initKilled, func(h *harness.History) { kill(h, "shim", 42) }), ""},
		"one that was killed before it took too much": {also(initKilled, func(h *harness.History) {
			h.Instances[0].Payload.HoggedAt = time.Time{}
		}), "end end status=killed"},
		"one that the kernel has counted": {also(initKilled, told, counts(1)), ""},
		"one that the kernel has not":     {also(initKilled, counts(0)), "end end status=killed"},
		"one that got all that it took": {also(initKilled, func(h *harness.History) {
			h.Instances[0].Payload.Exited, h.Instances[0].Payload.ExitedAt = true, at(30)
			end(h, 0)
		}), "end end status=wrong want=137 true=0"},
		"a child that got all that it took": {also(childKilled, func(h *harness.History) {
			h.Instances[0].Payload.ChildStatus = 0
			end(h, 125)
		}), "end end status=wrong want=7 true=125"},
		"nobody could hear it": {also(childKilled, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(25), BackIn: time.Second, Asked: true}}
		}), ""},
		"containerd was back before": {also(childKilled, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(21), BackIn: time.Millisecond, Asked: true}}
		}), missing},
		"its shim died":                      {also(childKilled, func(h *harness.History) { kill(h, "shim", 42) }), ""},
		"it was refused, and not sent again": {also(childKilled, forwards("containerd", term.Error)), missing},
		"what tells it was cut off":          {also(childKilled, forwards("containerd", term.Cancel)), ""},
		"its shim was held":                  {also(childKilled, forwards("shim", term.Delay)), ""},
		"a statement was broken": {also(childKilled, func(h *harness.History) {
			h.Hits[2].Point = "stmt:shim:task.service.Create:x"
		}), ""},
		"of one that was not":              {told, "event event event=untrue topic=/tasks/oom"},
		"of one with a limit that was not": {also(limited, told), "event event event=untrue"},
		"of one before it took too much": {also(childKilled, tellsOOM("c0", "shimquake", 23)),
			"event event event=untrue"},
		"of a bystander": {tellsOOM("beside", "shimquake", 27), "event event event=untrue"},
		"in another namespace": {also(childKilled, told, tellsOOM("c0", "moby", 27)),
			"event event event=wrong-namespace topic=/tasks/oom"},
		"of another in place of the right one": {also(childKilled, tellsOOM("c1", "shimquake", 27)), missing},
	})
}

func counts(kills int) func(*harness.History) {
	return func(h *harness.History) { h.Instances[0].OOMKills = &kills }
}

func onV2(h *harness.History) { h.Machine.Cgroups = "v2" }

func limited(h *harness.History) { h.Instances[0].Spec.Memory = 32 }

// The rows are about the reason that CRI reports. They have the form of TestCRIRules.
func TestCRIRulesOfOOM(t *testing.T) {
	told := tellsOOM("c0", daemon.CRINamespace, 27)
	reason := func(word string) func(*harness.History) {
		return exited(func(s *criview.Status) { s.Reason = word })
	}
	// CRI reports the running container as OOM-killed.
	saidSo := func(h *harness.History) {
		said := h.CRI.Statuses[0]
		said.Reason, said.Asked, said.Seen = criview.OOMKilled, at(28), at(29)
		h.CRI.Statuses = slices.Insert(h.CRI.Statuses, 1, said)
	}
	ofInit := also(initKilled, func(h *harness.History) {
		h.CRI.Statuses[1].ExitCode, h.CRI.Events[4].ExitCode = 137, 137
	})
	judgedPod(t, map[string]row{
		"a child's is the reason":           {also(childKilled, told, reason("OOMKilled")), ""},
		"a child's is not":                  {also(childKilled, told), "status cri-status field=reason is=other"},
		"an init's is the reason":           {also(ofInit, told, reason("OOMKilled")), ""},
		"an init's is not":                  {also(ofInit, told), "status cri-status field=reason is=other"},
		"an init's that nobody told of":     {ofInit, ""},
		"which CRI has learnt all the same": {also(ofInit, reason("OOMKilled")), ""},
		"a child's that nobody told of":     {childKilled, "event event event=missing topic=/tasks/oom"},
		"CRI learns it later": {also(childKilled, told, func(h *harness.History) {
			again := h.CRI.Statuses[1]
			again.Reason, again.Asked, again.Seen = "OOMKilled", at(36), at(37)
			h.CRI.Statuses = append(h.CRI.Statuses, again)
		}), ""},
		"and forgets it": {also(childKilled, told, reason("OOMKilled"), func(h *harness.History) {
			again := h.CRI.Statuses[1]
			again.Reason, again.Asked, again.Seen = "Error", at(36), at(37)
			h.CRI.Statuses = append(h.CRI.Statuses, again)
		}), "status cri-status field=reason is=changed"},
		"CRI was down": {also(childKilled, told, downFor(25, 33)), ""},
		"CRI had said so before it went down": {also(childKilled, told, reason("OOMKilled"), saidSo,
			downFor(30, 33)), ""},
		"and has forgotten it": {also(childKilled, told, saidSo, downFor(30, 33)),
			"status cri-status field=reason is=changed"},
		"it had heard of it and not said so": {also(childKilled, told, downFor(30, 33)), ""},
		"it had said so, and a call was broken": {also(childKilled, told, saidSo, downFor(30, 33), planned,
			forwards("containerd", term.Error)), ""},
		"it says so of one that was not": {reason("OOMKilled"), "status cri-status field=reason is=other"},
		"it says so of one with a limit": {also(limited, reason("OOMKilled")), "status cri-status field=reason is=other"},
	})
}
