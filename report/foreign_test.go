package report_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
)

// A folder of another user has links in place of the files of a report. They
// are replaced, or refused, and their targets stay as they are.
func TestAReportFollowsNoLink(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	for _, file := range []string{
		report.HTMLFile, report.JUnitFile, report.SummaryFile, report.ResultsFile,
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, file)
		must.Succeed(t, errors.Join(os.WriteFile(victim, []byte("victim"), 0o600),
			os.Symlink(victim, name)))
		v := leaked("x")
		err := report.Write(dir, report.Data{Title: "x", Made: began,
			Cases: report.All([]report.Case{{ID: "a", Verdict: v}})})
		must.Equal(t, file == report.ResultsFile, err != nil, file, err)
		if text, err := os.ReadFile(victim); err != nil || string(text) != "victim" {
			t.Errorf("%s: the target of the link has %d bytes, %v", file, len(text), err)
		}
		if info, err := os.Lstat(name); err != nil || file != report.ResultsFile && !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}

func TestAReportOfALinkedFolderStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	must.Succeed(t, os.Symlink(outside, filepath.Join(dir, report.WithoutDir)))
	v := leaked("x")
	must.Fail(t, report.KeepWithout(dir, report.WithoutDir+"/w.json", v), "a run was kept through a linked folder")
	must.Fail(t, must.ErrorOf(report.SweptWithout(dir)), "runs were read through a linked folder")
	must.Len(t, must.Get(os.ReadDir(outside))(t), 0)
}

// Only one report at a time can be written into a folder, because two would write into
// the same results.jsonl.
func TestAReportHasOneWriter(t *testing.T) {
	dir := t.TempDir()
	d := report.Data{Title: "x", Made: began}
	first := must.Get(report.Begin(dir, d))(t)
	must.FailWith(t, must.ErrorOf(report.Begin(dir, d)), "--out", "the second")
	must.Succeed(t, first.End())
	must.Len(t, must.Get(report.Findings(filepath.Join(dir, report.ResultsFile)))(t), 0)
	second, err := report.Begin(dir, d)
	must.Succeed(t, err, "after the first")
	must.Succeed(t, second.End())
}

func TestAReportDoesNotWaitForAFIFO(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{report.ResultsFile, report.WithoutFile} {
		must.Succeed(t, unix.Mkfifo(filepath.Join(dir, file), 0o600))
	}
	must.Fail(t, must.ErrorOf(report.Begin(dir, report.Data{Title: "x", Made: began})), "it was begun")
	must.Fail(t, must.ErrorOf(report.Findings(filepath.Join(dir, report.ResultsFile))), "it was read")
	must.Fail(t, must.ErrorOf(report.ReadWithout(dir, report.WithoutFile)), "it was read")
}
