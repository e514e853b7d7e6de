package compare

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/oracle/finding"
)

func TestEveryClassOfLeaksIsCompared(t *testing.T) {
	if all := leakClassesThat(func(leakClass) bool { return true }); !slices.Equal(all, finding.LeakClasses) {
		t.Errorf("compared are\n%v,\nlisted are\n%v", all, finding.LeakClasses)
	}
}
