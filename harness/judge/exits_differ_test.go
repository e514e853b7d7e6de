package judge

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
)

// An impossible time is a finding about its event alone. The right times in other reports
// are not findings.
func TestATimeThatCannotBeAccusesNobodyElse(t *testing.T) {
	for ms, accused := range map[int]bool{31: true, -5000: false} {
		h := clean()
		plain(&h)
		h.Events[2].Exited = at(ms)
		found := ledgerOf(runOf(&h)).differingTimes()
		if len(found) > 0 != accused {
			t.Errorf("%d ms: %v", ms, found)
		}
	}
}

// A dead shim excuses another time only if it died before its exit event arrived, or if
// the helper may have made the exit up.
func TestATimeIsLostWithItsShim(t *testing.T) {
	for name, tt := range map[string]struct {
		killed, status int
		do             term.Action
		accused        bool
	}{
		"before the event":    {29, 7, term.Kill, false},
		"after the event":     {36, 7, term.Kill, true},
		"a status of SIGKILL": {36, 137, term.Kill, false},
		"a broken shim":       {36, 7, term.Stop, false},
	} {
		h := clean()
		plain(&h)
		end(&h, tt.status)
		h.Case.Plan = failpoints.Plan{failpoints.Once("proc:shim:exited", tt.do)}
		h.Kills = []harness.Kill{{Who: "shim", PID: 42, At: at(tt.killed)}}
		h.Events[3].Exited = at(36)
		if found := ledgerOf(runOf(&h)).differingTimes(); len(found) > 0 != tt.accused {
			t.Errorf("%s: %v", name, found)
		}
	}
}
