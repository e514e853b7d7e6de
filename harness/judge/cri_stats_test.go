package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
)

func TestRulesOfStats(t *testing.T) {
	const limit, more = 32 << 20, 8 << 20
	// told has CRI tell from 25 on what the container uses, which runs from 20 to 30 and was
	// removed at 42.
	told := func(change func(*harness.CRIStats)) func(*harness.History) {
		return func(h *harness.History) {
			h.Instances[0].Spec.Memory, h.Instances[0].Deleted = limit>>20, at(42)
			q := harness.CRIStats{Call: "ListContainerStats", At: at(25), Answered: at(27), Told: []harness.CRIUsage{{
				ID: "c0", Labels: &criview.Labels{Name: "c0", Label: "c0"}, WorkingSet: 1 << 20, Available: limit - 1<<20,
				MemoryAt: at(26), CPU: time.Millisecond, CPUAt: at(26)}}}
			change(&q)
			h.CRI.Stats = append(h.CRI.Stats, q)
		}
	}
	uses := func(change func(*harness.CRIUsage)) func(*harness.History) {
		return told(func(q *harness.CRIStats) { change(&q.Told[0]) })
	}
	right := told(func(*harness.CRIStats) {})
	asked := func(ms int) func(*harness.CRIStats) {
		return func(q *harness.CRIStats) { q.At, q.Answered = at(ms), at(ms+1) }
	}
	// raised has the client raise its limit meanwhile.
	raised := func(from, to int) func(*harness.History) {
		return func(h *harness.History) {
			h.CRI.Raised = append(h.CRI.Raised, harness.CRIRaised{ID: "c0", Limit: limit + more, At: at(from),
				Answered: at(to)})
		}
	}
	const is = "status cri-status object=container what=stats field="
	judgedPod(t, map[string]row{
		"what it uses": {right, ""},
		"an error": {told(func(q *harness.CRIStats) { q.Told, q.Err = nil, failed("Unknown", "no") }),
			"liveness containerd what=stats code=Unknown"},
		"nothing of one that runs": {told(func(q *harness.CRIStats) { q.Told = nil }), is + "id is=other"},
		"nothing of one that ends": {told(func(q *harness.CRIStats) { q.Told, q.Answered = nil, at(31) }), ""},
		"twice": {told(func(q *harness.CRIStats) { q.Told = append(q.Told, q.Told...) }),
			is + "id is=other"},
		"of one that is removed": {told(asked(43)), is + "id is=other"},
		"of another than was asked for": {told(func(q *harness.CRIStats) { q.Of = "c1" }),
			is + "id is=other"},
		"by another's name": {uses(func(u *harness.CRIUsage) { u.Labels.Label = "c1" }), is + "labels is=other"},
		"another's limit":   {uses(func(u *harness.CRIUsage) { u.Available += 1 << 20 }), is + "memory is=other"},
		"no memory": {uses(func(u *harness.CRIUsage) { u.WorkingSet, u.Available = 0, limit }),
			is + "memory is=other"},
		"one that has ended": {told(func(q *harness.CRIStats) {
			asked(39)(q)
			q.Told[0] = harness.CRIUsage{ID: "c0"}
		}), ""},
		"one that has ended uses": {told(asked(39)), is + "memory is=other"},
		"long ago": {uses(func(u *harness.CRIUsage) { u.MemoryAt = at(-2000) }),
			is + "metered-at is=too-early"},
		"still to come": {uses(func(u *harness.CRIUsage) { u.CPUAt = at(2000) }), is + "metered-at is=too-late"},
		"less than before": {also(right, uses(func(u *harness.CRIUsage) { u.CPU-- })),
			is + "cpu is=other"},
		"the limit before it was raised": {also(right, raised(20, 24)), is + "memory is=other"},
		"the limit that it was given": {also(uses(func(u *harness.CRIUsage) { u.Available += more }),
			raised(20, 24)), ""},
		"the limit that it is given later": {also(right, raised(28, 29)), ""},
		"a fault may explain it":           {also(told(func(q *harness.CRIStats) { q.Told = nil }), killsShimAt(30)), ""},
	})
}
