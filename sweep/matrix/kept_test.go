package matrix

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
)

// journaled returns the text of the journal of a matrix of one bug, which held
// everywhere.
func journaled(t *testing.T, b catalogue.Bug, releases ...string) (dir, text string) {
	t.Helper()
	dir = t.TempDir()
	run(t, Matrix{Bugs: []catalogue.Bug{b}, Dir: dir, Releases: releases,
		Engine: faked(func(harness.Case) harness.Verdict { return held })})
	b2, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	return dir, string(b2)
}

func TestReadExpectsWhatTheCatalogueSaysNow(t *testing.T) {
	known, err := catalogue.FindBug("containerd-8981")
	if err != nil {
		t.Fatal(err)
	}
	dir, text := journaled(t, known, "v2.4.2", "v2.3.7")
	for _, c := range []struct {
		name, journal string
		want          string // of both cells
		old           int
	}{
		{"as it is", text, "ok, held | bad, HELD", 0},
		{"it was expected otherwise then",
			strings.ReplaceAll(text, `"expected":"bad"`, `"expected":"ok"`), "ok, held | bad, HELD", 0},
		{"the case was another",
			strings.NewReplacer(`"expected":"bad"`, `"expected":"ok"`, `"digest":"`, `"digest":"0`).Replace(text),
			"ok, held | ok, held", 2},
		{"the bug had another name", strings.ReplaceAll(text, `"bug":"`, `"bug":"once-`), "ok, held | bad, HELD", 2},
		{"a cell was run again",
			text + strings.ReplaceAll(text, `"seen":"held"`, `"seen":"shown"`), "ok, SHOWN 0/1 | bad, shown 0/1", 0},
		{"its end is torn", text + `{"bug":"x","rel`, "ok, held | bad, HELD", 0},
		{"it showed nothing", strings.ReplaceAll(text, `"seen":"held"`, `"seen":"invalid"`),
			"ok, INVALID | bad, INVALID", 0},
	} {
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(c.journal), 0o644); err != nil {
			t.Fatal(err)
		}
		tab, err := Read(dir)
		if err != nil || len(tab.Bugs) != 1 || strings.Join(tab.Releases, " ") != "v2.3.7 v2.4.2" {
			t.Errorf("%s: %v, bugs %d, releases %v", c.name, err, len(tab.Bugs), tab.Releases)
			continue
		}
		bug := tab.Bugs[0].ID
		got := tab.Cells[Key{bug, "v2.4.2"}].word() + " | " + tab.Cells[Key{bug, "v2.3.7"}].word()
		if got != c.want || tab.Old != c.old || (tab.StaleText() != "") != (c.old > 0) {
			t.Errorf("%s: %q, %d old; want %q, %d", c.name, got, tab.Old, c.want, c.old)
		}
	}
}

func TestReadTheWorstBugFirst(t *testing.T) {
	all := catalogue.BySeverity()
	tab := tableOf([]Cell{{Bug: "of-mine", Release: "src:x"}, {Bug: all[5].ID, Release: "v2.10.0"},
		{Bug: all[1].ID, Release: "v2.3.7"}})
	if got := strings.Join(tab.Releases, " "); got != "v2.3.7 v2.10.0 src:x" {
		t.Errorf("releases: %s", got)
	}
	var got []string
	for _, b := range tab.Bugs {
		got = append(got, b.ID)
	}
	if want := all[1].ID + " " + all[5].ID + " of-mine"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReadOfNothing(t *testing.T) {
	dir := t.TempDir()
	if Has(dir) {
		t.Error("an empty folder has a matrix")
	}
	for name, text := range map[string]string{"empty": "", "torn": `{"bug`, "no journal": "nonsense\n",
		"what is no word of ours": `{"bug":"x","expected":"ok","seen":"<b>held"}` + "\n",
		"nor that":                `{"bug":"x","expected":"](x)","seen":"held"}` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var input *harness.InputError
		if _, err := Read(dir); !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !Has(dir) {
		t.Error("a matrix is not seen")
	}
}
