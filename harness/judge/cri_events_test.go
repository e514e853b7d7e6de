package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
)

// An event reports each container that its pod has.
func TestAnEventTellsOfAllContainers(t *testing.T) {
	h := clean()
	h.CRI = &harness.CRISeen{Done: []harness.CRIDone{
		{Verb: "CreateContainer", ID: "c0", At: at(10)}, {Verb: "RemoveContainer", ID: "c0", At: at(2000)}}}
	for name, tc := range map[string]struct {
		of    []string
		ms    int
		lacks bool
	}{
		"of it":                         {[]string{"c1", "c0"}, 1000, false},
		"of another":                    {[]string{"c1"}, 1000, true},
		"of none":                       {[]string{}, 1000, true},
		"when it was about to be made":  {[]string{}, 200, false},
		"when it was about to be gone":  {[]string{}, 1900, false},
		"of the same pod, which is not": {[]string{}, 3000, false},
	} {
		if got := lacksSibling(runOf(&h), criview.Event{ID: "c1", Of: tc.of, Created: at(tc.ms)}); got != tc.lacks {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A stopped event that a removal causes may lack the state of its container.
func TestAnEventOfARemovalMayLackTheState(t *testing.T) {
	h := clean()
	h.Case.Plan, h.Instances[0].ID, h.Instances[0].Name = nil, "id", "c0"
	h.Calls = []harness.Call{{Verb: "RemoveContainer", Of: "c0", At: at(50)}}
	h.CRI = &harness.CRISeen{Done: []harness.CRIDone{{Verb: "CreateContainer", ID: "id", At: at(10)}}}
	for ms, want := range map[int]int{40: 1, 60: 0} {
		h.CRI.Events = []criview.Event{{Type: criview.Stopped, ID: "id", Created: at(ms)}}
		if got := bare(runOf(&h)); len(got) != want {
			t.Errorf("an event at %d ms: %d findings, want %d", ms, len(got), want)
		}
	}
}
