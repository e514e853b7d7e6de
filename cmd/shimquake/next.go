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
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro"
	"github.com/shimquake/shimquake/sweep/matrix"
	"github.com/shimquake/shimquake/sweep/triage"
)

// step is a command that is proposed to the user, with the reason.
type step struct{ typed, because string }

// self returns this program's name as the user typed it, so that the user can copy
// printed commands.
func self() string {
	if filepath.Base(os.Args[0]) == "shimquake" {
		return os.Args[0]
	}
	return "shimquake"
}

// asRoot returns self, with sudo before it if the user typed sudo.
func asRoot() string {
	if os.Getenv("SUDO_USER") != "" {
		return "sudo " + self()
	}
	return self()
}

// again returns the command that runs a case 20 times.
func again(release, word string) string {
	return fmt.Sprintf("%s run --containerd %s --count 20 %s", asRoot(), shellWord(release), shellWord(word))
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./~^-]+$`)

// shellWord quotes a word for a shell. The word may come from a file of another person,
// so it could contain commands.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// openReport returns a step that opens the report.html of a folder.
func openReport(dir, because string) step {
	return step{"open " + filepath.Join(dir, report.HTMLFile), because}
}

// tellNext prints the steps as shell commands.
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

// afterRun returns the steps after a run. v is the worst verdict, and each case ran count
// times.
func afterRun(v harness.Verdict, word, out string, count int) []step {
	switch {
	case v.UnableHere():
		return []step{{asRoot() + " check", "what this machine lacks, and how to fix it"}}
	case v.Outcome == harness.Invalid:
		return []step{openReport(out, "the points that were hit in place of the fault")}
	case v.Outcome != harness.Violated:
		return nil
	}
	steps := []step{openReport(out, "where it diverges from the fault-free run")}
	if b, ok := shownBug(v); ok {
		is := "known bug: "
		if !b.MayApply(v.Version) {
			is = "REGRESSION: " + v.Version + " should not have this bug: "
		}
		return append(steps, step{self() + " show " + b.ID, is + b.Title})
	}
	release := cmp.Or(v.Case.Containerd, v.Version)
	switch {
	case count == 1:
		return append(steps, step{again(release, word), "does it happen again?"})
	case v.Version != containerd.DefaultRelease:
		steps = append(steps, step{again(containerd.DefaultRelease, word), "does the newest release show it, too?"})
	}
	if v.Evidence != "" {
		steps = append(steps, step{self() + " bundle " + shellWord(v.Evidence),
			"for an issue: read it before you attach it"})
	}
	return steps
}

// shownBug returns the bug of the case, and reports whether the verdict shows it.
func shownBug(v harness.Verdict) (catalogue.Bug, bool) {
	if v.Outcome != harness.Violated { // most cases held
		return catalogue.Bug{}, false
	}
	b, err := catalogue.FindBug(v.Name)
	return b, err == nil && len(repro.Shows(b, v)) > 0
}

// tellBug returns lines about a bug that a verdict shows: its cause, its releases and its
// upstream threads.
func tellBug(b catalogue.Bug, version string) []string {
	head := "the known bug " + b.ID + ": " + b.Title
	if !b.MayApply(version) {
		head = "a REGRESSION of " + head + "; containerd " + version + " should be without it"
	}
	lines := []string{head, "cause: " + strings.ReplaceAll(b.Why, "`", ""), "affected: " + b.Releases.String()}
	for _, name := range b.Releases.Branches() {
		if fixed := b.Releases[name].Fixed; fixed != "" {
			lines = append(lines, "fixed in "+fixed)
		}
	}
	for _, t := range b.Threads {
		lines = append(lines, t.Word+": "+t.URL())
	}
	return append(lines, "shimquake show "+b.ID+" has the workaround until you run a fixed release")
}

// afterSweep returns the steps after a sweep: to open the report in dir, and to run the
// first new finding again. asked is --containerd, or "" for the default release.
func afterSweep(rep triage.Report, asked, dir string) []step {
	asked = cmp.Or(asked, rep.Version)
	steps := []step{openReport(dir, "every case, the worst first")}
	for _, c := range rep.New {
		if c.Shown != nil {
			again := asRoot() + " run --containerd " + shellWord(asked) + " " + shellWord(c.Shown.File)
			return append(steps, step{again, "NEW: " + c.Name})
		}
	}
	return steps
}

// afterMatrix returns the steps after a matrix: the first cell that differs.
func afterMatrix(t matrix.Table, dir string) (steps []step) {
	t.Each(func(c matrix.Cell) {
		if len(steps) == 0 && (c.Differs() || c.Seen == matrix.Invalid) {
			steps = append(steps, step{again(c.Release, c.Case), c.String()})
		}
	})
	return append([]step{openReport(dir, "every cell and its runs")}, steps...)
}

// afterBisect returns the steps after a search for a release or a commit.
func afterBisect(a bisectAnswer, word, source string) []step {
	if source != "" {
		return []step{{"git -C " + shellWord(source) + " show " + shellWord(a.First), a.Is}}
	}
	again := fmt.Sprintf("%s run --containerd %s %s", asRoot(), shellWord(a.First), shellWord(word))
	return []step{{again, a.Is}}
}
