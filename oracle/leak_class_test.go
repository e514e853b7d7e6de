package oracle

import (
	"slices"
	"testing"
)

func TestEveryClassOfLeaksIsCompared(t *testing.T) {
	if all := leakClassesThat(func(leakClass) bool { return true }); !slices.Equal(all, LeakClasses) {
		t.Errorf("compared are\n%v,\nlisted are\n%v", all, LeakClasses)
	}
}
