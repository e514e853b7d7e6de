package harness

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/oracle"
)

func TestBadOn(t *testing.T) {
	c := Case{Bad: []Bad{
		{Releases: "< 1.6.24 || >= 1.7.0, < 1.7.4", By: []oracle.Class{oracle.ClassShim}, Issue: "one"},
		{Releases: ">= 2.0.0, < 2.4.0", By: []oracle.Class{oracle.ClassShim}, Issue: "two"},
		{Releases: "< 3.0.0", By: []oracle.Class{oracle.ClassSocket}, Issue: "the rest"},
	}}
	for version, want := range map[string]string{
		"v1.6.8": "one", "v1.6.24": "the rest", "v1.7.3": "one", "1.7.4": "the rest", "v2.3.7": "two", "v2.4.2": "the rest",
		"v2.4.0-rc.1": "the rest", "v2.3.0-beta.0": "two", "v3.0.0": "", "v2.3.7+dirty": "two", "": "", "main": "",
	} {
		got := ""
		if b := c.BadOn(version); b != nil {
			got = b.Issue
		}
		if got != want {
			t.Errorf("on %q: %q, want %q", version, got, want)
		}
	}
}

func TestAsKnown(t *testing.T) {
	leak := func(class oracle.Class) oracle.Finding {
		return oracle.Finding{Invariant: oracle.Leak, Class: class}
	}
	excused := leak(oracle.ClassEvent)
	excused.Known = "taskdelete-lost"
	byShim := []Bad{{Releases: "< 2.4.0", By: []oracle.Class{oracle.ClassShim}, Issue: "containerd#1"}}
	byExit := []Bad{
		{
			Releases: "< 2.4.0",
			By:       []oracle.Class{oracle.ClassExitCode},
			May:      []oracle.Class{oracle.ClassEvent},
			Issue:    "containerd#2",
		},
	}
	for _, test := range []struct {
		name    string
		bad     []Bad
		version string
		outcome Outcome
		found   []oracle.Class
		says    string // of the error; "" for none
	}{
		{"holds where it must", byShim, "v2.4.2", Held, nil, ""},
		{"violated where it must hold", byShim, "v2.4.2", Violated, []oracle.Class{oracle.ClassShim}, "violated"},
		{"invalid where it must hold", byShim, "v2.4.2", Invalid, nil, "invalid"},
		{"no list at all", nil, "v2.3.7", Violated, []oracle.Class{oracle.ClassShim}, "violated"},
		{"violated as known", byShim, "v2.3.7", Violated, []oracle.Class{oracle.ClassShim}, ""},
		{"with what goes without saying", byShim, "v2.3.7", Violated,
			[]oracle.Class{oracle.ClassShim, oracle.ClassSocket, oracle.ClassBundle, oracle.ClassCgroup,
				oracle.ClassContainer}, ""},
		{"and more", byShim, "v2.3.7", Violated, []oracle.Class{oracle.ClassShim, oracle.ClassMount}, "besides: leak mount"},
		{"held where it is known to be violated", byShim, "v2.3.7", Held, nil, "is the range"},
		{"invalid where it is known to be violated", byShim, "v2.3.7", Invalid, nil, "invalid"},
		{"violated in another way", byShim, "v2.3.7", Violated, []oracle.Class{oracle.ClassExitCode}, "missing [shim]"},
		{"companions of no shim", byExit, "v2.3.7", Violated, []oracle.Class{oracle.ClassExitCode, oracle.ClassSocket},
			"besides: leak socket"},
		{"what a race decides, so", byExit, "v2.3.7", Violated, []oracle.Class{oracle.ClassExitCode, oracle.ClassEvent}, ""},
		{"what a race decides, or so", byExit, "v2.3.7", Violated, []oracle.Class{oracle.ClassExitCode}, ""},
		{"nothing but what a race decides", byExit, "v2.3.7", Violated, []oracle.Class{oracle.ClassEvent},
			"missing [exit-code]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := Verdict{
				Case:     Case{Bad: test.bad},
				Name:     "x",
				Version:  test.version,
				Outcome:  test.outcome,
				Findings: []oracle.Finding{excused},
			}
			for _, class := range test.found {
				v.Findings = append(v.Findings, leak(class))
			}
			err := v.AsKnown()
			if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v; want an error that says %q", err, test.says)
			}
		})
	}
}

func TestBadCheck(t *testing.T) {
	good := Bad{Releases: "< 2.4.0", By: []oracle.Class{oracle.ClassShim}, Issue: "containerd#1"}
	for name, spoil := range map[string]func(*Bad){
		"releases": func(b *Bad) { b.Releases = "old" },
		"by":       func(b *Bad) { b.By = nil },
		"class":    func(b *Bad) { b.By = []oracle.Class{"shin"} },
		"may":      func(b *Bad) { b.May = []oracle.Class{"shin"} },
		"issue":    func(b *Bad) { b.Issue = "" },
	} {
		b := good
		if err := b.check(); err != nil {
			t.Fatal(err)
		}
		if spoil(&b); b.check() == nil {
			t.Errorf("%s: %+v passes", name, b)
		}
	}
}
