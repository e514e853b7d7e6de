package harness

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// An exit without a report does not look like an exit with correct reports.
func TestVerdictSaysThatNoObserverReported(t *testing.T) {
	v := Verdict{Truths: []exit.Truth{{Container: "c0", Status: 7, Source: "its own record"}}}
	must.Contain(t, v.String(), "reported: by no observer")
}

// The verdict of an interrupted run names the stage that the run had reached.
func TestVerdictSaysHowFarItCame(t *testing.T) {
	for _, s := range []Stage{NotBegun, Prepared, Booted, Underway, Removed, Inspected, Completed} {
		v := Verdict{Problems: []Problem{{Kind: ByEnd, Text: "the run was ended"}}, History: &History{Run: Run{Reached: s}}}
		if said := v.String(); stageWords[s] == "" || !strings.Contains(said, "came:  "+stageWords[s]+"\n") {
			t.Errorf("%q: %s", s, said)
		}
	}
	if v := (Verdict{History: &History{}}); strings.Contains(v.String(), "came:") {
		t.Error("the run was not interrupted:", v)
	}
}

// Foreign text in a verdict moves no cursor and forges no line.
func TestVerdictQuotesForeignText(t *testing.T) {
	for name, foreign := range map[string]string{
		"escape sequences": "x\x1b[2K\x1b[1A\x1b[32mheld", "a forged row": "x\nheld     y on containerd v2.4.2 in 1s",
		"a carriage return": "x\rheld     y", "a title": "\x1b]0;x\x07", "a link": "\x1b]8;;http://x\x07y",
		"one byte":     "\x9b2J",
		"a C1 control": "\u009b2J", "an override": "\u202etxt.exe", "a separator": "x\u2028held", "a null": "x\x00y",
	} {
		t.Run(name, func(t *testing.T) {
			f := finding.Finding{Invariant: finding.Leak, Class: finding.ClassShim, Because: foreign,
				Subject: finding.Subject{PID: 41, Name: foreign, Namespace: foreign, ID: foreign},
				Facts:   fact.Facts{fact.Task: foreign, fact.TaskPID: foreign}}
			v := Verdict{Outcome: Violated, Name: foreign, Version: foreign, Evidence: foreign,
				Problems: []Problem{{Kind: ByMiss, Text: foreign}}, Firings: []Firing{{Text: foreign, Proof: foreign}},
				Findings: []finding.Finding{f}, NeverBegan: []string{foreign},
				Truths:   []exit.Truth{{Container: foreign, Source: foreign}},
				Reported: []exit.Observation{{Container: foreign, Observer: exit.Observer(foreign)}},
				History: &History{Log: Log{
					Calls: []Call{{Verb: foreign, Err: &callerr.Failed{Text: foreign}}},
				}}}
			for _, text := range []string{v.String(), v.History.TimelineText()} {
				checkLines(t, text, v.Outcome)
			}
		})
	}
}

// checkLines checks that only the first line begins with the outcome.
func checkLines(t *testing.T, text string, o Outcome) {
	t.Helper()
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return !strconv.IsPrint(r) }) || !utf8.ValidString(line) {
			t.Errorf("line %d is not printable: %q", n, line)
		}
		if (n > 0 || !strings.HasPrefix(line, string(o))) && !strings.HasPrefix(line, "  ") {
			t.Errorf("line %d is forged: %q", n, line)
		}
	}
}
