package repro

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/catalogue"
)

const publicReports = "../fixtures/reports/public"

// public is the expected result for a public report:
// fixtures/reports/public/answers.yaml.
type public struct {
	Thread string   `yaml:"thread"`
	Bugs   []string `yaml:"bugs"`
	None   string   `yaml:"none"`
	Missed string   `yaml:"missed"`
}

// The bug of the thread comes first, or no bug fits. A report that is still misread has a
// mark, which must go as soon as it is read correctly.
func TestPublicReportsAreRanked(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(publicReports, "answers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]public
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(publicReports + "/*/*.txt")
	if err != nil || len(files) != len(all) {
		t.Fatalf("%d reports, %d answers, %v", len(files), len(all), err)
	}
	right := 0
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(f, publicReports+"/"), ".txt")
		want, ok := all[name]
		if !ok || (len(want.Bugs) == 0) != (want.None != "") {
			t.Errorf("%s: its expected result has bugs, or a reason why none fits", name)
			continue
		}
		best := Match(readFile(t, f), Options{Bugs: catalogue.BySeverity()}).Fits[0]
		is := !best.Clears && want.None != "" || best.Clears && slices.Contains(want.Bugs, best.ID)
		if is {
			right++
		}
		if is == (want.Missed != "") {
			t.Errorf("%s: %s is the best, and fits: %v; want %+v", name, best.ID, best.Clears, want)
		}
	}
	t.Logf("%d of %d are right", right, len(files))
}
