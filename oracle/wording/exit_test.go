package wording

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

func TestWrongExitsAreNamed(t *testing.T) {
	for _, test := range []struct {
		name      string
		truth     uint32
		reported  uint32
		sent      int
		wrongKind string // "" when it is the truth
		reason    string
	}{
		{"the truth", 7, 7, 0, "", ""},
		{"a real SIGKILL", 137, 137, 9, "", ""},
		{"made-up 137", 7, 137, 0, fact.MadeUp137,
			"delete reported 137; the payload exited with 7 (its own record); 137 means SIGKILL, which was never sent"},
		{"137 after the end", 7, 137, 9, fact.MadeUp137, "which the harness sent, but it did not end the process"},
		{"255", 7, 255, 0, fact.MadeUp255, "does not know the status"},
		{"0", 7, 0, 0, fact.MadeUp0, "0 means success"},
		{"0 for a SIGKILL", 137, 0, 0, fact.MadeUp0, "137 means SIGKILL"},
		{"143", 0, 143, 0, fact.MadeUpSig, "143 means SIGTERM, which was never sent"},
		{"another", 7, 8, 0, fact.Wrong, "8 is wrong"},
		{"128", 7, 128, 0, fact.Wrong, "128 is wrong"},
		{"no exit status", 7, 4294967295, 0, fact.Wrong, "is no exit status"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wrong := must.Get(exit.Wrong(
				[]exit.Truth{{Container: "c1", Status: test.truth, Source: "its own record"}},
				[]exit.Observation{
					{Container: "c1", Observer: exit.ByWait, Status: test.truth},
					{Container: "c1", Observer: exit.ByDelete, Status: test.reported},
				},
				[]exit.Sent{{Container: "c1", Signal: test.sent, By: "the harness"}},
			))(t)
			if test.wrongKind == "" {
				must.Equal(t, len(wrong), 0, "the truth is called wrong", wrong)
				return
			}
			if len(wrong) != 1 {
				t.Fatalf("%d findings, want 1: %v", len(wrong), wrong)
			}
			f := wrong[0]
			if f.Facts[fact.Status] != test.wrongKind || !strings.Contains(Reason(f), test.reason) ||
				f.Class != finding.ClassExitCode ||
				!f.Violates() {
				t.Errorf("got %s: %s; want %s: %s", f.Facts[fact.Status], f, test.wrongKind, test.reason)
			}
		})
	}
}
