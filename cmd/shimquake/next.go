package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro"
	"github.com/shimquake/shimquake/sweep/matrix"
	"github.com/shimquake/shimquake/sweep/triage"
)

// step is what somebody may type next, and what for.
type step struct{ typed, because string }

// self is this program as it was typed, so that what is reported can be typed, too.
func self() string {
	if filepath.Base(os.Args[0]) == "shimquake" {
		return os.Args[0]
	}
	return "shimquake"
}

// asRoot is what runs cases, as it was typed.
func asRoot() string {
	if os.Getenv("SUDO_USER") != "" {
		return "sudo " + self()
	}
	return self()
}

// again runs a case until it is known how often it shows something.
func again(release, word string) string {
	return fmt.Sprintf("%s run --containerd %s --count 20 %s", asRoot(), shellWord(release), shellWord(word))
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./~^-]+$`)

// shellWord quotes a word for a shell. Other people may have written it into a journal or
// a file's name.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// openReport is a step to a folder's page.
func openReport(dir, because string) step {
	return step{"open " + filepath.Join(dir, report.HTMLFile), because}
}

// tellNext prints the steps, as a shell would take them.
func tellNext(out io.Writer, steps ...step) error {
	width := 0
	for _, s := range steps {
		width = max(width, len(s.typed))
	}
	head := "next:"
	var b quote.Text
	for _, s := range steps {
		b.Line("%-5s %-*s  # %s", head, width, s.typed, s.because)
		head = ""
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// afterRun is what comes after a run whose worst verdict this is.
func afterRun(v harness.Verdict, word, out string) []step {
	switch {
	case v.Unable():
		return []step{{asRoot() + " check", "what this machine lacks, and what to do"}}
	case v.Outcome == harness.Invalid:
		return []step{openReport(out, "what was passed in place of the fault")}
	case v.Outcome != harness.Violated:
		return nil
	}
	steps := []step{openReport(out, "where it parts from the run without the fault")}
	if b, ok := shownBug(v); ok {
		return append(steps, step{self() + " show " + b.ID, "it is known: " + b.Title})
	}
	return append(steps, step{again(cmp.Or(v.Case.Containerd, v.Version), word), "does it come again?"})
}

// shownBug is the bug whose case this is, where the verdict shows it.
func shownBug(v harness.Verdict) (catalogue.Bug, bool) {
	if v.Outcome != harness.Violated { // of most cases, and then there is nothing to look for
		return catalogue.Bug{}, false
	}
	b, err := catalogue.FindBug(v.Name)
	return b, err == nil && b.Releases.MayApply(v.Version) && len(repro.Shows(b, v)) > 0
}

// afterSweep is what comes after a sweep, whose report lies in a folder: the first thing
// that is new. The containerd is named as it was asked for; "" is the default release.
func afterSweep(rep triage.Report, asked, dir string) []step {
	asked = cmp.Or(asked, rep.Version)
	steps := []step{openReport(dir, "every case, the worst first")}
	for _, c := range rep.New {
		if c.Shown != nil {
			again := asRoot() + " run --containerd " + shellWord(asked) + " " + shellWord(c.Shown.File)
			return append(steps, step{again, "NEW: " + c.Name})
		}
	}
	for _, k := range rep.Known {
		if k.Gone || k.Exceeds() {
			return append(steps, step{again(asked, k.ID), "GONE, or more than known"})
		}
	}
	return steps
}

// afterMatrix is what comes after a matrix: the first cell that differs.
func afterMatrix(t matrix.Table, dir string) (steps []step) {
	t.Each(func(c matrix.Cell) {
		if len(steps) == 0 && (c.Differs() || c.Seen == matrix.Invalid) {
			steps = append(steps, step{again(c.Release, c.Case), c.String()})
		}
	})
	return append([]step{openReport(dir, "every cell and its runs")}, steps...)
}

// afterBisect is what comes after a bisection, whose answer is a release or a commit.
func afterBisect(a bisectAnswer, word, source string) []step {
	if source != "" {
		return []step{{"git -C " + shellWord(source) + " show " + shellWord(a.First), a.Is}}
	}
	again := fmt.Sprintf("%s run --containerd %s %s", asRoot(), shellWord(a.First), shellWord(word))
	return []step{{again, a.Is + ": see it"}}
}
