package judge

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
)

// The hits of a shim show which delete was its last. CRI deletes a killed sandbox before
// the sandbox's container.
func TestLastOfShim(t *testing.T) {
	deletes := func(pid int, ids ...string) (hits []failpoints.Hit) {
		for n, id := range ids {
			hits = append(hits, hit("rpc:shim:Task.Delete:exit", 30+n, func(h *failpoints.Hit) { h.PID, h.ID = pid, id }))
		}
		return hits
	}
	for name, tt := range map[string]struct {
		hits []failpoints.Hit
		want string
	}{
		"nothing noted":         {nil, "pod"},
		"the sandbox's":         {deletes(7, "c0", "pod"), "pod"},
		"the container's":       {deletes(7, "pod", "c0"), "c0"},
		"each its own shim":     {append(deletes(7, "pod"), deletes(8, "c0")...), "pod c0"},
		"the second use's":      {append(deletes(7, "c0", "pod"), hitLate(deletes(7, "c0")[0])), "pod"},
		"one that has failed":   {append(deletes(7, "c0", "pod"), hitFailed(deletes(7, "c0")[0])), "pod"},
		"an exec's, and no end": {append(deletes(7, "c0", "pod"), hitOfExec(deletes(7, "c0")[0])), "pod"},
	} {
		h := pod()
		h.Hits = tt.hits
		got := ""
		for _, id := range []string{"pod", "c0"} {
			if lastOfShim(runOf(&h), id) {
				got += " " + id
			}
		}
		if got != " "+tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func hitLate(h failpoints.Hit) failpoints.Hit   { h.Time = at(9000); return h }
func hitFailed(h failpoints.Hit) failpoints.Hit { h.Err = "no"; return h }
func hitOfExec(h failpoints.Hit) failpoints.Hit { h.ExecID = "e"; return h }
