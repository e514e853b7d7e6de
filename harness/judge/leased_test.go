package judge

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfLeases(t *testing.T) {
	// The first of two expires at 45; the look before that sees both, the one after it the
	// other.
	leases := func(change func(l *harness.Leased)) func(*harness.History) {
		return also(plain, func(h *harness.History) {
			h.Leased = &harness.Leased{
				Leases: []harness.Lease{{ID: "a", Expires: at(45), Snapshot: "x"},
					{ID: "b", Expires: at(900), Snapshot: "y"}},
				Looks: []harness.LeaseLook{
					{At: at(3), Answered: at(4), Leases: []string{"a", "b"}, Snapshots: []string{"c0", "x", "y"}},
					{At: at(46), Answered: at(47), Leases: []string{"b"}, Snapshots: []string{"y"}},
				},
			}
			change(h.Leased)
		})
	}
	without := func(all []string, id string) []string {
		return slices.DeleteFunc(all, func(s string) bool { return s == id })
	}
	stays := func(l *harness.Leased) { l.Looks[1].Leases = append(l.Looks[1].Leases, "a") }
	goes := func(l *harness.Leased) { l.Looks[0].Leases = without(l.Looks[0].Leases, "a") }
	judged(t, map[string]row{
		"what has expired is gone":  {leases(func(*harness.Leased) {}), ""},
		"what has expired is there": {leases(stays), "leak lease expires=expired"},
		"its snapshot is there": {leases(func(l *harness.Leased) { l.Looks[1].Snapshots = []string{"x", "y"} }),
			"leak snapshot expires=expired"},
		"one is gone before its end": {leases(goes), "loss lease expires=true"},
		"its snapshot is": {leases(func(l *harness.Leased) {
			l.Looks[0].Snapshots = without(l.Looks[0].Snapshots, "x")
		}), "loss snapshot expires=true"},
		"the other is gone": {leases(func(l *harness.Leased) { l.Looks[1].Leases = nil }), "loss lease expires=true"},
		"the other's snapshot is": {leases(func(l *harness.Leased) { l.Looks[1].Snapshots = nil }),
			"loss snapshot expires=true"},
		"it expired while it was looked for": {leases(func(l *harness.Leased) {
			stays(l)
			l.Looks[1].At = at(44)
		}), ""},
		"and it was gone": {leases(func(l *harness.Leased) {
			goes(l)
			l.Looks[0].Answered = at(45)
		}), ""},
		"its snapshot was never made": {leases(func(l *harness.Leased) {
			l.Leases[0].Snapshot = ""
			l.Looks[0].Snapshots = without(l.Looks[0].Snapshots, "x")
		}), ""},
		"where a fault is planned": {also(leases(stays), planned), ""},
	})
}
