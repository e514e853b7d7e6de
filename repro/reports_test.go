package repro

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/sweep/engine"
)

// -reports runs the sample reports to their results (root, minutes each). Without it
// they are only read and ranked.
var runReports = flag.Bool("reports", false, "run the sample reports to their results (make repro-reports)")

// sample is the expected result of a report: the YAML file beside it.
type sample struct {
	Bug        string   `yaml:"bug"`
	Containerd string   `yaml:"containerd"`
	Runtime    string   `yaml:"runtime"`
	Without    []string `yaml:"without"`
}

// Limits on the time until the result, with warm builds.
const (
	reproducedIn = 5 * time.Minute
	foundIn      = 10 * time.Minute
)

func samples(t *testing.T) map[string]sample {
	t.Helper()
	files, err := filepath.Glob("../fixtures/reports/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]sample{}
	held := 0
	for _, f := range files {
		text, err := os.ReadFile(strings.TrimSuffix(f, ".txt") + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var s sample
		if err := yaml.UnmarshalWithOptions(text, &s, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out[f] = s
		if len(s.Without) > 0 {
			held++
		}
	}
	if len(out)-held < 16 || held < 4 { // one of them is about other trouble
		t.Fatalf("%d reports, %d held out", len(out), held)
	}
	return out
}

func readFile(t *testing.T, name string) read.Report {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read-only
	r, err := read.From(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The right bug comes first. If it is excluded, no other bug fits for sure. A report
// about other trouble fits no bug.
func TestSampleReportsAreRanked(t *testing.T) {
	for name, want := range samples(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			r := readFile(t, name)
			if r.Version() != want.Containerd || string(r.Client) != want.Runtime {
				t.Errorf("read %s of %s, want %s of %s", r.Version(), r.Client, want.Containerd, want.Runtime)
			}
			if 2*r.Understood < r.Lines {
				t.Errorf("%d of %d lines were understood; not: %v", r.Understood, r.Lines, r.Other)
			}
			a := Match(r, Options{Bugs: catalogue.BySeverity(), Without: want.Without})
			best := a.Fits[0]
			switch {
			case want.Bug == "" && best.Clears:
				t.Errorf("%s fits a report about other trouble", best.ID)
			case want.Bug != "" && len(want.Without) == 0 && (best.ID != want.Bug || !best.Clears):
				t.Errorf("the best is %s, not %s:\n%s", best.ID, want.Bug, a.FitsText())
			}
		})
	}
}

// TestSampleReports runs the reports. The bug is reproduced on the reported release. If
// it is excluded, the search finds it.
func TestSampleReports(t *testing.T) {
	if !*runReports {
		t.Skip("minutes each: make repro-reports")
	}
	for name, want := range samples(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			out := t.TempDir()
			r := &runner.Runner{Residues: catalogue.Residues(), Evidence: out, KeepAll: true,
				Log: os.Stderr}
			o := Options{Trier: Trier{Runner: r, Engine: engine.New(r, 3*runtime.NumCPU()), Runs: 5, Log: io.Discard},
				Bugs: catalogue.BySeverity(), Without: want.Without,
				For: foundIn, Out: out}
			if err := o.Runner.Prepare(t.Context(), want.Containerd); err != nil { // a build is not timed
				t.Fatal(err)
			}
			a, err := ForReport(t.Context(), readFile(t, name), o)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case want.Bug == "":
				if a.Status() != 3 {
					t.Errorf("status %d:\n%s", a.Status(), a)
				}
			case len(want.Without) > 0:
				checkFound(t, a, want)
			case !hasCase(t, want.Bug):
				if !slices.Equal(a.Unable, []string{want.Bug}) || a.Best >= 0 || a.Search != nil {
					t.Errorf("want %s, which has no case:\n%s", want.Bug, a)
				}
			case a.Best < 0 || a.Trials[a.Best].Bug != want.Bug || a.Took > reproducedIn:
				t.Errorf("want %s in %s:\n%s", want.Bug, reproducedIn, a)
			}
		})
	}
}

func hasCase(t *testing.T, id string) bool {
	t.Helper()
	bug, err := catalogue.FindBug(id)
	if err != nil {
		t.Fatal(err)
	}
	return len(bug.Cases) > 0
}

// checkFound checks that the search found a case with the symptoms of the bug.
func checkFound(t *testing.T, a Answer, want sample) {
	t.Helper()
	if a.Best >= 0 || !a.found() || a.Took > foundIn+time.Minute { // a minute for the replays
		t.Fatalf("%s was not found:\n%s", want.Bug, a)
	}
	bug, err := catalogue.FindBug(want.Bug)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Search.Found.Findings {
		if finding.AnyMatches(bug.Matches(), f) {
			return
		}
	}
	t.Errorf("the case does not show the symptoms of %s:\n%s", want.Bug, a)
}
