package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfStates(t *testing.T) {
	with := func(change func(*harness.Instance)) func(*harness.History) {
		return func(h *harness.History) {
			i := &h.Instances[0]
			i.States = []harness.TaskState{
				{Call: "create", Told: 41, As: "CREATED", PID: 41}, {Call: "start", Told: 41, As: "RUNNING", PID: 41}}
			change(i)
		}
	}
	without := func(change func(*harness.Instance)) func(*harness.History) { return also(plain, with(change)) }
	unlike := func(i *harness.Instance) { i.States[0].As = "RUNNING" }
	const as, pid = "liveness container what=state-as call=", "liveness container what=state-pid call="
	judged(t, map[string]row{
		"as they are":                    {without(func(*harness.Instance) {}), ""},
		"one that was created, and runs": {without(unlike), as + "create task=RUNNING"},
		"after a fault":                  {with(unlike), ""},
		"one that was started, and does not": {without(func(i *harness.Instance) { i.States[1].As = "CREATED" }),
			as + "start task=CREATED"},
		"one of no state": {without(func(i *harness.Instance) { i.States[1].As = "" }), as + "start task=none"},
		"another's pid": {without(func(i *harness.Instance) { i.States[1].PID = 51 }),
			pid + "start reported=51 true=41"},
		"no pid": {without(func(i *harness.Instance) { i.States[0].Told = 0 }), pid + "create reported=none"},
	})
}
