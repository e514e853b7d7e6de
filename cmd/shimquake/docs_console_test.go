package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shimquake/shimquake/must"
)

// TestSessionsOfThePages runs the sessions that pages show, and compares the output. It
// ignores what differs in each run: times, pids, ids and folders.
func TestSessionsOfThePages(t *testing.T) {
	t.Parallel()
	must.BeRoot(t, "for worlds")
	must.TakeLong(t, "runs cases for some seconds")
	self := must.Get(os.Executable())(t)
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.lang != "console" || usesJq(b) {
				continue
			}
			dir := t.TempDir()
			typed, want := console(b)
			for i, s := range typed {
				n++
				commands, err := commandsOf(s)
				if err != nil || len(commands) != 1 || !isOurs(commands[0]) {
					t.Fatalf("%s:%d: a session has one command of shimquake after each $: %v", s.page, s.line, err)
				}
				got := session(t, self, dir, commands[0].words[1:])
				if d := cmp.Diff(ofAnyRun(want[i]), ofAnyRun(got)); d != "" {
					t.Errorf("%s:%d: it prints something else (-page +run):\n%s", s.page, s.line, d)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no page shows a session")
	}
}

// TestRecipesOfThePages runs the sessions with jq that pages show, on kept histories, and
// compares what is printed. The jq is gojq, so that no machine lacks it.
func TestRecipesOfThePages(t *testing.T) {
	e := testscript.Env{WorkDir: t.TempDir()}
	must.Succeed(t, kept(&e))
	must.Get(evidenceHere(e.WorkDir, "killed-shim"))(t)
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.lang != "console" || !usesJq(b) {
				continue
			}
			typed, want := console(b)
			for i, s := range typed {
				n++
				c := exec.CommandContext(t.Context(), "sh", "-c", s.text)
				c.Dir = e.WorkDir
				out, err := c.CombinedOutput()
				if d := cmp.Diff(want[i], string(out)); err != nil || d != "" {
					t.Errorf("%s:%d: %v: it prints something else (-page +run):\n%s", s.page, s.line, err, d)
				}
			}
		}
	}
	if n < 4 {
		t.Errorf("pages show only %d sessions with jq", n)
	}
}

// usesJq reports whether a session is of jq, not of shimquake.
func usesJq(b snippet) bool {
	typed, _ := console(b)
	return slices.ContainsFunc(typed, func(s snippet) bool {
		commands, err := commandsOf(s)
		return err == nil && slices.ContainsFunc(commands, func(c command) bool { return c.words[0] == "jq" })
	})
}

// session runs this program in a folder, and returns what it prints.
func session(t *testing.T, self, dir string, words []string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), self, words...)
	c.Dir, c.Env = dir, append(os.Environ(), "SHIMQUAKE_TEST_MAIN=1")
	out, err := c.Output() // without standard error, which has the progress of builds
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

// Words that another run has otherwise.
var ofOneRun = []struct {
	is   *regexp.Regexp
	here string
}{
	{regexp.MustCompile(`in [0-9.]+m?s\b`), "in SOME s"},
	{regexp.MustCompile(`process [0-9]+`), "process N"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "ID"},
	{regexp.MustCompile(`(kept: +).*`), "${1}A FOLDER"},
	{regexp.MustCompile(`\b[0-9]{8}-[0-9]{6}-`), "TIME-"},
	{regexp.MustCompile(`bin/shimquake`), "shimquake"},
	{regexp.MustCompile(` +#`), " #"},
}

func ofAnyRun(text string) string {
	for _, w := range ofOneRun {
		text = w.is.ReplaceAllString(text, w.here)
	}
	return strings.TrimSpace(text)
}

// TestOfAnyRunKeepsWhatMatters: what a page shows is not made up of words that are alike
// in all runs.
func TestOfAnyRunKeepsWhatMatters(t *testing.T) {
	a := "violated x in 1s\n  found: leak shim: shim process 28: bundle gone\n"
	for _, b := range []string{strings.Replace(a, "violated", "held", 1), strings.Replace(a, "gone", "there", 1)} {
		if ofAnyRun(a) == ofAnyRun(b) {
			t.Errorf("%q and %q are the same", a, b)
		}
	}
	if same := "violated x in 300ms\n  found: leak shim: shim process 31: bundle gone\n"; ofAnyRun(a) != ofAnyRun(same) {
		t.Errorf("%q is another than %q", same, a)
	}
}
