package audit_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// An audit must not be able to break anything. It is not linked with packages that
// break, run or build containerds.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/shimquake/shimquake/"
	var have []string
	for name := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(name), ours); ok {
			have = append(have, rest)
		}
	}
	slices.Sort(have)
	want := []string{"audit", "foreign", "oracle/callerr", "oracle/criview", "oracle/event", "oracle/exit", "oracle/fact",
		"oracle/finding", "oracle/inventory", "oracle/scan", "oracle/wording", "poll", "quote", "spelling"}
	if !slices.Equal(have, want) {
		t.Errorf("linked with %q, want %q", have, want)
	}
}
