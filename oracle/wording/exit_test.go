package wording

import (
	"fmt"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
)

func TestWrongExitsAreNamed(t *testing.T) {
	must.Table(t, "testdata/exits.txt", func(text string) (named string) {
		var truth, reported uint32
		var sent int
		must.Get(fmt.Sscanf(text, "%d exits, %d reported, signal %d sent", &truth, &reported, &sent))(t)
		wrong := must.Get(exit.Wrong(
			[]exit.Truth{{Container: "c1", Status: truth, Source: "its own record"}},
			[]exit.Observation{
				{Container: "c1", Observer: exit.ByWait, Status: truth},
				{Container: "c1", Observer: exit.ByDelete, Status: reported},
			},
			[]exit.Sent{{Container: "c1", Signal: sent, By: "the harness"}},
		))(t)
		for _, f := range wrong {
			named += fmt.Sprintf("%s %s: %s; violates: %t", f.Class, f.Facts[fact.Status], Reason(f), f.Violates())
		}
		return named
	})
}
