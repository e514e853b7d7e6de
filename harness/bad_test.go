package harness

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/oracle/finding"
)

func TestBadOn(t *testing.T) {
	c := Case{Bad: []KnownViolations{
		{Releases: "< 1.6.24 || >= 1.7.0, < 1.7.4", By: finding.MustMatches("shim"), Issue: "one"},
		{Releases: ">= 2.0.0, < 2.4.0", By: finding.MustMatches("shim"), Issue: "two"},
		{Releases: "< 3.0.0", By: finding.MustMatches("socket"), Issue: "the rest"},
	}}
	for version, want := range map[string]string{
		"v1.6.8": "one", "v1.6.24": "the rest", "v1.7.3": "one", "1.7.4": "the rest", "v2.3.7": "two", "v2.4.2": "the rest",
		"v2.4.0-rc.1": "the rest", "v2.3.0-beta.0": "two", "v3.0.0": "", "v2.3.7+dirty": "two", "": "", "main": "",
	} {
		got := ""
		if b := c.KnownViolationsOn(version); b != nil {
			got = b.Issue
		}
		if got != want {
			t.Errorf("on %q: %q, want %q", version, got, want)
		}
	}
}

func TestAsKnown(t *testing.T) {
	of := func(id string, f finding.Finding) finding.Finding { f.Subject.ID = id; return f }
	leak := func(class finding.Class) finding.Finding {
		return of("c0", finding.Finding{Invariant: finding.Leak, Class: class})
	}
	found := func(inv finding.Invariant, text string) finding.Finding {
		m := finding.MustMatches(text)[0]
		return of("c0", finding.Finding{Invariant: inv, Class: m.Class, Facts: m.Facts})
	}
	shim, socket := leak(finding.ClassShim), leak(finding.ClassSocket)
	made, made0 := found(finding.Exit, "exit-code by=cri-status status=made-up-255 reported=255 true=137"),
		found(finding.Exit, "exit-code by=cri-status status=made-up-0 reported=0 true=137")
	late := found(finding.Event, "event event=late topic=/tasks/exit after=/tasks/delete")
	excused := of("c0", finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent, Known: "taskdelete-lost"})
	byShim := []KnownViolations{{Releases: "< 2.4.0", By: finding.MustMatches("shim"), Issue: "containerd#1"}}
	byExit := []KnownViolations{{
		Releases: "< 2.4.0",
		By:       finding.MustMatches("exit-code by=cri-status status=made-up-255"),
		May:      finding.MustMatches("event event=late topic=/tasks/exit"),
		Issue:    "containerd#2",
	}}
	inPod := func(f finding.Finding) finding.Finding { f.Subject.Pod = "p0"; return f }
	for _, test := range []struct {
		name    string
		bad     []KnownViolations
		version string
		outcome Outcome
		found   []finding.Finding
		says    string // of the error; "" for none
	}{
		{"holds where it must", byShim, "v2.4.2", Held, nil, ""},
		{"violated where it must hold", byShim, "v2.4.2", Violated, []finding.Finding{shim}, "violated"},
		{"invalid where it must hold", byShim, "v2.4.2", Invalid, nil, "invalid"},
		{"no list at all", nil, "v2.3.7", Violated, []finding.Finding{shim}, "violated"},
		{"violated as known", byShim, "v2.3.7", Violated, []finding.Finding{shim}, ""},
		{"with consequences of the leaked shim", byShim, "v2.3.7", Violated,
			[]finding.Finding{
				shim, socket, leak(finding.ClassBundle), leak(finding.ClassCgroup), leak(finding.ClassContainer),
			}, ""},
		{"and a leak of another container", byShim, "v2.3.7", Violated, []finding.Finding{shim, of("c1", socket)},
			"unexpected [leak socket"},
		{"and a leak without an owner", byShim, "v2.3.7", Violated, []finding.Finding{shim, of("", socket)},
			"unexpected [leak socket"},
		{"with a leak of a container in its pod", byShim, "v2.3.7", Violated,
			[]finding.Finding{inPod(of("p0", shim)), inPod(socket)}, ""},
		{"and a wrong exit status", byShim, "v2.3.7", Violated, []finding.Finding{shim, made}, "unexpected [exit exit-code"},
		{"held where it is known to be violated", byShim, "v2.3.7", Held, nil, "check the range"},
		{"invalid where it is known to be violated", byShim, "v2.3.7", Invalid, nil, "invalid"},
		{"violated in another way", byShim, "v2.3.7", Violated, []finding.Finding{made}, "missing [shim]"},
		{"companions of no shim", byExit, "v2.3.7", Violated, []finding.Finding{made, socket}, "unexpected [leak socket"},
		{"another status than is known", byExit, "v2.3.7", Violated, []finding.Finding{made0},
			"missing [exit-code by=cri-status status=made-up-255]"},
		{"a second status", byExit, "v2.3.7", Violated, []finding.Finding{made, made0}, "unexpected [exit exit-code"},
		{"with the finding of the race", byExit, "v2.3.7", Violated, []finding.Finding{made, late}, ""},
		{"without the finding of the race", byExit, "v2.3.7", Violated, []finding.Finding{made}, ""},
		{"only the finding of the race", byExit, "v2.3.7", Violated, []finding.Finding{late}, "missing [exit-code"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := Verdict{
				Case:     Case{Bad: test.bad},
				Name:     "x",
				Version:  test.version,
				Outcome:  test.outcome,
				Findings: append([]finding.Finding{excused}, test.found...),
			}
			err := v.CompareWithKnown()
			if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v; want an error that says %q", err, test.says)
			}
		})
	}
}

func TestBadCheck(t *testing.T) {
	good := KnownViolations{Releases: "< 2.4.0", By: finding.MustMatches("shim"), Issue: "containerd#1"}
	for name, spoil := range map[string]func(*KnownViolations){
		"releases": func(b *KnownViolations) { b.Releases = "old" },
		"by":       func(b *KnownViolations) { b.By = nil },
		"class":    func(b *KnownViolations) { b.By = []finding.Match{{Class: "shin"}} },
		"may":      func(b *KnownViolations) { b.May = []finding.Match{{Class: "shin"}} },
		"observer": func(b *KnownViolations) { b.By = []finding.Match{{Class: finding.ClassExitCode}} },
		"issue":    func(b *KnownViolations) { b.Issue = "" },
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
