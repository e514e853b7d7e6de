package harness

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/oracle"
)

// An exit of which nobody was told is not one that everybody told right.
func TestVerdictSaysThatNobodyTold(t *testing.T) {
	v := Verdict{Truths: []oracle.Truth{{Container: "c0", Status: 7, Source: "its own record"}}}
	if s := v.String(); !strings.Contains(s, "told: by nobody") {
		t.Error(s)
	}
}
