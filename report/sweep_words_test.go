package report

import (
	"testing"

	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/sweep/triage"
)

// A cluster's title says what has come about, also where its cause has no words.
func TestWordsOfACluster(t *testing.T) {
	for want, s := range map[string]triage.Signature{
		"ID reuse: the id could not be used again": {
			Invariant: oracle.Liveness, Class: oracle.ClassContainer, Facts: oracle.Facts{oracle.FactWhat: oracle.IDReuse},
		},
		"leak shim: no task of that id in containerd": {
			Invariant: oracle.Leak, Class: oracle.ClassShim, Facts: oracle.Facts{oracle.FactTask: oracle.None},
		},
	} {
		if got := words(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
