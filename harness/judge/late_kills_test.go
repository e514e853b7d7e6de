package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

func TestRulesOfLateKills(t *testing.T) {
	asks := func(exec string, err *callerr.Failed, hit bool) func(*harness.History) {
		return func(h *harness.History) {
			h.LateKills = append(h.LateKills, harness.LateKill{Of: "c0", Exec: exec, PID: 42, At: at(40), Err: err, Hit: hit})
		}
	}
	shared := func(h *harness.History) { h.Instances[0].Spec.SharedPID = true }
	gone, silent := failed("NotFound", "process already finished"), failed("Unavailable", "connection refused")
	silent.Answered = false
	const sent = "liveness container what=late-kill-as code=OK"
	judged(t, map[string]row{
		"a task's is refused":   {also(plain, asks("", gone, false)), ""},
		"an exec's is refused":  {also(plain, asks("e0", gone, false)), ""},
		"nobody answers":        {also(plain, asks("", silent, false)), ""},
		"an exec's is sent":     {also(plain, asks("e0", nil, false)), sent + " of=exec"},
		"a task's is sent":      {also(plain, asks("", nil, false)), sent},
		"of a shared namespace": {also(plain, shared, asks("", nil, false)), ""},
		"its exec's is sent":    {also(plain, shared, asks("e0", nil, false)), sent + " of=exec"},
		"it is refused otherwise": {also(plain, asks("", failed("Unknown", "no such process"), false)),
			"liveness container what=late-kill-as code=Unknown"},
		"another is hit": {also(plain, asks("e0", gone, true)), "liveness container what=kill-hits-another of=exec"},
		"another is hit in a shared namespace": {also(plain, shared, asks("", gone, true)),
			"liveness container what=kill-hits-another"},
	})
}
