package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfSecondMounts(t *testing.T) {
	with := func(change func(*harness.SecondMount)) func(*harness.History) {
		return func(h *harness.History) {
			s := &harness.SecondMount{Beat: at(20), Patience: time.Second, Looked: at(60), Kept: true}
			change(s)
			h.Instances[0].Second = s
		}
	}
	emptied := with(func(s *harness.SecondMount) { s.Kept = false })
	judged(t, map[string]row{
		"it is seen and kept": {also(plain, with(func(*harness.SecondMount) {})), ""},
		"it is not seen": {also(plain, with(func(s *harness.SecondMount) { s.Beat = time.Time{} })),
			"liveness container what=mount-unseen"},
		"it is emptied": {also(plain, emptied), "liveness container what=mount-emptied"},
		"it was never deleted": {also(plain, with(func(s *harness.SecondMount) {
			s.Looked, s.Kept = time.Time{}, false
		})), ""},
		"a fault was planned": {emptied, ""},
	})
}
