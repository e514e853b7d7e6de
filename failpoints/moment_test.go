package failpoints

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

// A process and its controller must agree on the hits at which an action is decided,
// because these are counted.
func TestProbeAndControllerCountTheSameHits(t *testing.T) {
	moments := map[term.Moment][]probe.Hit{ // hits at which such an action can be decided
		term.AtStatement: {{}, {Ctx: probe.ByTimeout}, {Ctx: probe.ByCaller}},
		term.AtCall:      {{Call: true}, {Call: true, Ctx: probe.ByCaller}},
		term.AtCancel:    {{Ctx: probe.ByCaller}},
		term.AtDeadline:  {{Ctx: probe.ByTimeout}, {Ctx: probe.ByCaller}},
	}
	for _, a := range Stmt.Actions() {
		if a == term.Off {
			continue
		}
		clause := a.Samples()[0]
		decided := map[probe.Hit]bool{}
		for _, h := range moments[a.Moment()] {
			decided[h] = true
		}
		for _, hits := range moments {
			for _, h := range hits {
				must.Equal(t, probe.DecidedAt(term.Of(clause), h), decided[h], a, "is decided at the hit", h)
			}
		}
	}
}
