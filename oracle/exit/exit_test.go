package exit

import (
	"strings"
	"testing"
)

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
			"is ambiguous: 7 () and 8 ()",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wrong, err := Wrong(test.truths, []Observation{test.reported}, nil)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || len(wrong) != 0 {
				t.Errorf("%v, %v; want none and %q", wrong, err, test.want)
			}
		})
	}
}
