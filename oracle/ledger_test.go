package oracle

import (
	"strings"
	"testing"
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
		{"made-up 137", 7, 137, 0, MadeUp137,
			"delete said 137; the payload exited with 7 (its own record); 137 means SIGKILL, which nobody sent"},
		{"137 after the end", 7, 137, 9, MadeUp137, "which the harness sent, but it did not end the process"},
		{"255", 7, 255, 0, MadeUp255, "could not learn"},
		{"0", 7, 0, 0, MadeUp0, "0 means success"},
		{"0 for a SIGKILL", 137, 0, 0, MadeUp0, "137 means SIGKILL"},
		{"143", 0, 143, 0, MadeUpSig, "143 means SIGTERM, which nobody sent"},
		{"another", 7, 8, 0, Wrong, "8 is merely wrong"},
		{"128", 7, 128, 0, Wrong, "128 is merely wrong"},
		{"no exit status", 7, 4294967295, 0, Wrong, "no exit status at all"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wrong, err := WrongExits(
				[]Truth{{Container: "c1", Status: test.truth, Source: "its own record"}},
				[]Observation{
					{Container: "c1", Observer: ByWait, Status: test.truth},
					{Container: "c1", Observer: ByDelete, Status: test.reported},
				},
				[]Sent{{Container: "c1", Signal: test.sent, By: "the harness"}},
			)
			if err != nil {
				t.Fatal(err)
			}
			if test.wrongKind == "" {
				if len(wrong) != 0 {
					t.Errorf("the truth is called wrong: %v", wrong)
				}
				return
			}
			if len(wrong) != 1 {
				t.Fatalf("%d findings, want 1: %v", len(wrong), wrong)
			}
			f := wrong[0]
			if f.Facts[FactStatus] != test.wrongKind || !strings.Contains(f.Reason(), test.reason) ||
				f.Class != ClassExitCode ||
				!f.Violates() {
				t.Errorf("got %s: %s; want %s: %s", f.Facts[FactStatus], f, test.wrongKind, test.reason)
			}
		})
	}
}

func TestWhatIsNotKnownOfExitsIsNotJudged(t *testing.T) {
	seven := Truth{Container: "c1", Status: 7}
	for name, test := range map[string]struct {
		truths   []Truth
		reported Observation
		want     string // part of the error; "" for none
	}{
		"no truth": {nil, Observation{Container: "c1"}, ErrNoTruth.Error()},
		"truth of the init, not of the exec": {
			[]Truth{seven}, Observation{Container: "c1", Exec: "e1"}, "c1, exec e1: " + ErrNoTruth.Error(),
		},
		"one truth, twice": {[]Truth{seven, seven}, Observation{Container: "c1", Status: 7}, ""},
		"two truths": {
			[]Truth{seven, {Container: "c1", Status: 8}}, Observation{Container: "c1", Status: 7},
			"exited with 7 () and with 8",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wrong, err := WrongExits(test.truths, []Observation{test.reported}, nil)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || len(wrong) != 0 {
				t.Errorf("%v, %v; want none and %q", wrong, err, test.want)
			}
		})
	}
}
