package slowsys

import (
	"fmt"
	"slices"

	"golang.org/x/tools/txtar"

	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
)

// callsIn parses a log, whose last line may be unfinished.
func callsIn(log string) []Call {
	p := newParser("umount2")
	lines := strings.Split(log, "\n")
	for _, line := range lines[:len(lines)-1] {
		p.line(line)
	}
	return p.with(lines[len(lines)-1])
}

func TestParseLog(t *testing.T) {
	all := must.Get(txtar.ParseFile("testdata/calls.txtar"))(t)
	for pair := range slices.Chunk(all.Files, 2) {
		log := string(pair[0].Data)
		if strings.HasSuffix(pair[0].Name, "(its last line has no end)") {
			log = strings.TrimSuffix(log, "\n")
		}
		var got strings.Builder
		for _, c := range callsIn(log) {
			fmt.Fprintf(&got, "%d %d.%06d (%s) = %q, took %v, delayed %v, killed %v\n", c.TID, c.Start.Unix(),
				c.Start.Nanosecond()/1000, c.Args, c.Result, c.Took, c.Delayed, c.Killed)
		}
		must.Equal(t, got.String(), string(pair[1].Data), pair[0].Name)
	}
}

func FuzzParseLog(f *testing.F) {
	f.Add(`41 1700000000.000001 umount2("/a", MNT_DETACH) = 0 (DELAYED) <0.500101>`)
	f.Add("7 10.1 umount2(\"/a\", 0 <unfinished ...>\n7 10.5 <... umount2 resumed>) = ?\n")
	f.Add("7 10.000001 umount2(\"/a")
	f.Fuzz(func(t *testing.T, log string) {
		calls := callsIn(log)
		if n := strings.Count(log, "umount2("); len(calls) > n {
			t.Errorf("%d calls from %d beginnings", len(calls), n)
		}
		for _, c := range calls {
			if c.TID <= 0 || c.Took < 0 || c.Returned() && c.Killed {
				t.Errorf("impossible call %+v", c)
			}
		}
	})
}

// If a call returned before its delay was over, something else ended the delay, so the
// call proves nothing.
func TestTooShort(t *testing.T) {
	const delay = 12 * time.Second
	for name, c := range map[string]struct {
		call Call
		bad  bool
	}{
		"as long":               {Call{Result: "0", Delayed: true, Took: delay}, false},
		"its line was slow":     {Call{Result: "0", Delayed: true, Took: delay - 90*time.Millisecond}, false},
		"let go at its end":     {Call{Result: "0", Delayed: true, Took: delay - 110*time.Millisecond}, true},
		"let go":                {Call{Result: "0", Delayed: true, Took: time.Second}, true},
		"not delayed":           {Call{Result: "0", Took: time.Millisecond}, false},
		"its thread was killed": {Call{Killed: true, Delayed: true}, false},
		"in its delay":          {Call{Delayed: true}, false},
	} {
		if err := tooShort([]Call{c.call}, delay); (err != nil) != c.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}
