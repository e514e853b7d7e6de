package slowsys

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func at(sec, usec int64) time.Time { return time.Unix(sec, usec*1000) }

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
	for name, tc := range map[string]struct {
		log  string
		want []Call
	}{
		"nothing": {"", nil},
		"a call": {
			`41 1700000000.000001 umount2("/a", MNT_DETACH) = 0 (DELAYED) <0.500101>`,
			[]Call{{TID: 41, Start: at(1700000000, 1), Args: `"/a", MNT_DETACH`, Result: "0", Took: 500101 * time.Microsecond,
				Delayed: true}},
		},
		"a call that failed, padded": {
			`3411  1700000000.000001 umount2("/a", 0)      = -1 EBUSY (Device or resource busy) (DELAYED) <2.000001>`,
			[]Call{{TID: 3411, Start: at(1700000000, 1), Args: `"/a", 0`, Result: "-1 EBUSY (Device or resource busy)",
				Took: 2000001 * time.Microsecond, Delayed: true}},
		},
		"a call that was not delayed": {
			`41 1700000000.000001 umount2("/a", 0) = 0 <0.000005>`,
			[]Call{{TID: 41, Start: at(1700000000, 1), Args: `"/a", 0`, Result: "0", Took: 5 * time.Microsecond}},
		},
		"two threads at once": {
			"7 10.000001 umount2(\"/a\", MNT_DETACH <unfinished ...>\n" +
				"8 10.000002 umount2(\"/b\", MNT_DETACH <unfinished ...>\n" +
				"7 10.500001 <... umount2 resumed>) = 0 (DELAYED) <0.500000>\n" +
				"8 10.600002 <... umount2 resumed>) = -1 EINVAL (Invalid argument) (DELAYED) <0.600000>\n",
			[]Call{
				{TID: 7, Start: at(10, 1), Args: `"/a", MNT_DETACH`, Result: "0", Took: 500 * time.Millisecond, Delayed: true},
				{TID: 8, Start: at(10, 2), Args: `"/b", MNT_DETACH`, Result: "-1 EINVAL (Invalid argument)",
					Took: 600 * time.Millisecond, Delayed: true},
			},
		},
		"the process was killed in it": {
			"7 10.000001 umount2(\"/a\", MNT_DETACH) = ?\n7 10.500001 +++ killed by SIGKILL +++\n",
			[]Call{{TID: 7, Start: at(10, 1), Args: `"/a", MNT_DETACH`, Result: "?", Killed: true}},
		},
		"killed, after an interruption in the log": {
			"7 10.000001 umount2(\"/a\", 0 <unfinished ...>\n7 10.500001 <... umount2 resumed>) = ?\n",
			[]Call{{TID: 7, Start: at(10, 1), Args: `"/a", 0`, Result: "?", Killed: true}},
		},
		"still running": {
			"7 10.000001 umount2(\"/a\", MNT_DETACH",
			[]Call{{TID: 7, Start: at(10, 1), Args: `"/a", MNT_DETACH`}},
		},
		"a path with everything in it": {
			`7 10.000001 umount2("/a) = 0 <1.0> x", 0) = 0 (DELAYED) <0.250000>`,
			[]Call{{TID: 7, Start: at(10, 1), Args: `"/a) = 0 <1.0> x", 0`, Result: "0", Took: 250 * time.Millisecond,
				Delayed: true}},
		},
		"other lines": {
			"strace: Process 7 attached\n7 10.1 +++ exited with 0 +++\n7 10.1 openat(AT_FDCWD, \"umount2(\") = 3 <0.1>\n" +
				"7 10.1 <... umount2 resumed>) = 0 <0.1>\n7 10.1 umount(\"/a\") = 0 <0.1>\n-7 10.1 umount2(\n7 x umount2(\n",
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, callsIn(tc.log), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("calls differ (-want +got):\n%s", diff)
			}
		})
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
