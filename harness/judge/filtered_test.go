package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
)

// A list by a filter is asked for without a fault only.
func TestRulesOfFilters(t *testing.T) {
	by := func(change func(*harness.Filtered)) func(*harness.History) {
		return func(h *harness.History) {
			q := harness.Filtered{Filter: `id=="c0"`}
			change(&q)
			h.Filtered = append(h.Filtered, q)
		}
	}
	lacks := by(func(q *harness.Filtered) { q.Left = []string{"c0"} })
	silent := failed("Unavailable", "connection refused")
	silent.Answered = false
	answered := failed("Unknown", "broken")
	answered.Answered = true
	const wrong = "liveness containerd what=wrong-list"
	judged(t, map[string]row{
		"as it selects":       {also(plain, by(func(*harness.Filtered) {})), ""},
		"one is missing":      {also(plain, lacks), wrong},
		"another is there":    {also(plain, by(func(q *harness.Filtered) { q.Others = []string{"c1"} })), wrong},
		"it is refused":       {also(plain, by(func(q *harness.Filtered) { q.Err = answered })), wrong},
		"nobody answers":      {also(plain, by(func(q *harness.Filtered) { q.Err = silent })), ""},
		"a fault was planned": {lacks, ""},
	})
}
