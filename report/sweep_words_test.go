package report

import (
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// A cluster's title describes its findings, also if its cause has no words.
func TestWordsOfACluster(t *testing.T) {
	for want, s := range map[string]finding.Finding{
		"ID reuse: the id could not be used again": {
			Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: fact.Facts{fact.What: fact.IDReuse},
		},
		"leak shim: containerd has no task with that id": {
			Invariant: finding.Leak, Class: finding.ClassShim, Facts: fact.Facts{fact.Task: fact.None},
		},
	} {
		must.Equal(t, words(s), want)
	}
}
