package cri

import (
	"testing"

	"github.com/shimquake/shimquake/harness/script"
)

// The client has a call for each verb of its API. The player itself knows the others.
func TestEveryVerbHasACall(t *testing.T) {
	calls := (&Client{}).verbs()
	for _, v := range script.Verbs {
		if v.By&script.CRI != 0 && v.Name != script.Mark && v.Name != script.Join && calls[v.Name] == nil {
			t.Errorf("no call for %q", v.Name)
		}
	}
}
