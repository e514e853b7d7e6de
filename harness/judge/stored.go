package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// stored: containerd's stores say of what a client has made, refused and removed there
// what is so.
func stored(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !h.Case.Faultless() {
		return nil, nil
	}
	for _, s := range h.Stored {
		if s.Is != s.Want {
			found = append(found, oracle.Finding{
				Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Subject: oracle.Subject{ID: s.Key},
				Facts: oracle.Facts{oracle.FactWhat: oracle.StoreAs, oracle.FactCall: s.Of, oracle.FactReported: s.Is,
					oracle.FactTrue: s.Want},
			})
		}
	}
	return found, nil
}
