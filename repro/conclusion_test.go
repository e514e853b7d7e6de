package repro

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/search"
)

// There always is a conclusion. It is "found" only for a run that logged all quoted
// messages.
func TestConclusion(t *testing.T) {
	shown := Trial{Bug: "a-bug", Release: "v2.3.7", Runs: 1, Shown: 1, Like: 1, Quoted: []int{3, 4}, Logged: []int{3, 4}}
	other := shown
	other.Logged = []int{4}
	for want, a := range map[string]Answer{
		"found: a-bug, reproduced on containerd v2.3.7":                                 {Trials: []Trial{shown}},
		"same leak, but not the quoted log: a-bug on containerd v2.3.7 logs 1 of the 2": {Trials: []Trial{other}},
		"not known: no such release": {Best: -1,
			Failed: "no such release"},
		"it fits b-bug, but there is no case to run": {Best: -1,
			Unable: []string{"b-bug"}},
		"not known: " + search.NoTargets: {Best: -1,
			Search: &search.Result{Why: search.NoTargets}},
		"not found after 2 cases of 5 on containerd v2.3.7": {Best: -1, Release: "v2.3.7",
			Search: &search.Result{Ran: 2, Planned: 5}},
		"not found: the bugs that fit do not show the symptoms": {Best: -1, Trials: []Trial{{Runs: 1, Held: 1}}},
		"not known: no known bug fits":                          {Best: -1},
		"found: containerd v2.3.7 shows the symptoms without a fault": {Best: -1, Release: "v2.3.7",
			Plain: []Plain{{Like: true}}},
	} {
		a.Report = &read.Report{}
		if got := a.Conclusion(); !strings.HasPrefix(got, want) || !strings.Contains(a.String(), "conclusion: "+want) {
			t.Errorf("%q, want %q, also at the end of\n%s", got, want, a)
		}
	}
}
