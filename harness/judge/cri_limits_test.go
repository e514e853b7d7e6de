package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
)

// The client asks when a container runs, raises its limit, and asks when it has ended.
func TestCRILimits(t *testing.T) {
	const limit, more = 32 << 20, 8 << 20
	says := func(first, last int64) func(*harness.History) {
		return func(h *harness.History) {
			h.Instances[0].Spec.Memory = limit >> 20
			h.CRI.Statuses[0].MemoryLimit, h.CRI.Statuses[1].MemoryLimit = first, last
			h.CRI.Raised = []harness.CRIRaised{{ID: "c0", Limit: limit + more, At: at(23), Answered: at(25)},
				{ID: "c1", Limit: limit, At: at(26), Answered: at(27)}}
		}
	}
	const is = "status cri-status object=container field=memory-limit is=other"
	judgedPod(t, map[string]row{
		"what it was given":           {says(limit, limit+more), ""},
		"a release that tells none":   {says(0, 0), ""},
		"one that begins to tell it":  {says(0, limit+more), ""},
		"what it was given before":    {says(limit, limit), is},
		"what it is given only later": {says(limit+more, limit+more), is},
		"nothing any more":            {says(limit, 0), is},
		"nothing was given": {func(h *harness.History) {
			says(limit, limit)(h)
			h.Instances[0].Spec.Memory, h.CRI.Raised = 0, nil
		}, is},
		"the same as before, asked for again": {func(h *harness.History) {
			says(limit, limit+more)(h)
			h.CRI.Statuses[0].Asked = at(26)
		}, is},
		"a fault may explain it": {also(says(limit, 0), func(h *harness.History) {
			h.Case.Plan = clean().Case.Plan
		}, killsShimAt(30)), ""},
	})
}

func TestCRISaysTheSameOfALimit(t *testing.T) {
	was := criview.Status{ID: "c0", MemoryLimit: 1}
	if is := was; !was.Same(is) {
		t.Error("it has not changed")
	}
	if is := (criview.Status{ID: "c0", MemoryLimit: 2}); was.Same(is) {
		t.Error("its limit has changed")
	}
}
