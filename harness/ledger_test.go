package harness

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
)

// hits makes the hits of a shim with pid 1 from words like "State:exit=7" and, with another pid, "2/State:exit=7".
func hits(text string) []failpoints.Hit {
	var all []failpoints.Hit
	for word := range strings.FieldsSeq(text) {
		pid := 1
		if rest, ok := strings.CutPrefix(word, "2/"); ok {
			pid, word = 2, rest
		}
		point, status, replied := strings.Cut(word, "=")
		h := failpoints.Hit{Who: "shim", PID: pid, Hit: probe.Hit{Point: "rpc:shim:Task." + point, ID: "c0"}}
		if replied {
			var n uint32
			for _, d := range status {
				n = n*10 + uint32(d-'0')
			}
			h.Status = &n
		}
		all = append(all, h)
	}
	return all
}

func TestShimsTold(t *testing.T) {
	for _, tc := range []struct{ name, hits, want string }{
		{"a running container", "State:entry State:exit=0", ""},
		{"a plain end", "Wait:entry Wait:exit=7 State:entry State:exit=7 Delete:entry Delete:exit=7", "shim-state 7, shim-delete 7"},
		{"a lie of 0", "Wait:exit=7 State:entry State:exit=0", "shim-state 0"},
		{"asked while it ran, answered after its end", "State:entry Wait:exit=7 State:exit=0", ""},
		{"answers that overtake", "State:entry Wait:exit=7 State:entry State:exit=7 State:exit=0 State:entry State:exit=7", "shim-state 7"},
		{"a Wait without an answer", "Wait:exit State:entry State:exit=0", ""},
		{"no task any more", "Wait:exit=7 State:entry State:exit", ""},
		{"another shim", "Wait:exit=7 2/State:entry 2/State:exit=0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Verdict{Told: shimsTold(hits(tc.hits))}.said("c0")
			if got = strings.TrimPrefix(got, "; told: "); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.hits, got, tc.want)
			}
		})
	}
}
