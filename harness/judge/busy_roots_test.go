package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfBusyRoots(t *testing.T) {
	until := func(end func(deleted time.Time) time.Time) func(*harness.History) {
		return func(h *harness.History) { h.Instances[0].BusyUntil = end(h.Instances[0].Deleted) }
	}
	early := until(func(deleted time.Time) time.Time { return deleted.Add(300 * time.Millisecond) })
	judged(t, map[string]row{
		"deleted when it is free": {also(plain, until(func(deleted time.Time) time.Time {
			return deleted.Add(-time.Millisecond)
		})), ""},
		"deleted while it is in use": {also(plain, early), "liveness container what=deleted-in-use"},
		"after a fault":              {early, ""},
		"never deleted": {also(plain, early, func(h *harness.History) {
			h.Instances[0].Deleted = time.Time{}
		}), ""},
	})
}
