package mutation

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/triage"
)

func TestResult(t *testing.T) {
	for name, tt := range map[string]struct {
		result Result
		found  bool
		says   string
	}{
		"blind": {Result{ID: "m", Cases: 7}, false, "NOT FOUND m"},
		"plain": {Result{ID: "m", Plain: &harness.Verdict{}}, true, "without a fault"},
		"finding": {Result{ID: "m", Cases: 7, New: []triage.Cluster{{Name: "shim-x", Cases: 3}}}, true,
			"by 7 cases: shim-x (3)"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(strings.Fields(tt.result.String()), " ")
			if tt.result.Found() != tt.found || !strings.Contains(text, tt.says) {
				t.Errorf("found %v, says %q; want %v and %q", tt.result.Found(), text, tt.found, tt.says)
			}
		})
	}
}
