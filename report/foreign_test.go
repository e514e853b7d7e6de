package report_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	if err := report.KeepWithout(dir, report.WithoutDir+"/w.json", v); err == nil {
		t.Error("a run was kept through a linked folder")
	}
	if all, err := report.SweptWithout(dir); err == nil {
		t.Errorf("runs were read through a linked folder: %v", all)
	}
	if all, err := os.ReadDir(outside); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// Only one report at a time can be written into a folder, because two would write into
// the same results.jsonl.
func TestAReportHasOneWriter(t *testing.T) {
	dir := t.TempDir()
	d := report.Data{Title: "x", Made: began}
	first := must.Get(report.Begin(dir, d))(t)
	if _, err := report.Begin(dir, d); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("the second: %v", err)
	}
	must.Succeed(t, first.End())
	if all, err := report.Findings(filepath.Join(dir, report.ResultsFile)); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	second, err := report.Begin(dir, d)
	if err != nil {
		t.Fatalf("after the first: %v", err)
	}
	must.Succeed(t, second.End())
}

func TestAReportDoesNotWaitForAFIFO(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{report.ResultsFile, report.WithoutFile} {
		must.Succeed(t, unix.Mkfifo(filepath.Join(dir, file), 0o600))
	}
	if _, err := report.Begin(dir, report.Data{Title: "x", Made: began}); err == nil {
		t.Error("it was begun")
	}
	if _, err := report.Findings(filepath.Join(dir, report.ResultsFile)); err == nil {
		t.Error("it was read")
	}
	if _, err := report.ReadWithout(dir, report.WithoutFile); err == nil {
		t.Error("it was read")
	}
}
