package audit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/scan"
)

// fakeProc is a procfs with one process, of which a file is missing.
func fakeProc(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "41"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"uptime": "100.0 1.0\n", "41/stat": strings.Replace(shimStat, "4711", "41", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A process whose memory is locked (mmap_sem) hangs all who read its command line.
func TestAReadThatHangs(t *testing.T) {
	dir := fakeProc(t)
	if err := unix.Mkfifo(filepath.Join(dir, "41/cmdline"), 0o600); err != nil { // its open waits for a writer
		t.Fatal(err)
	}
	begun := time.Now()
	_, err := Run(t.Context(), Options{Proc: dir, Timeout: time.Millisecond, hangs: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "41")) {
		t.Errorf("%v, want one that names the process", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	earlier := hung.all[dir]
	for range 3 { // a watch
		begun = time.Now()
		_, err := Run(t.Context(), Options{Proc: dir, Timeout: time.Millisecond, hangs: time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), "still hangs") || hung.all[dir] != earlier {
			t.Errorf("%v, want the look that hangs to be reported, and no other", err)
		}
		if took := time.Since(begun); took > time.Second { // it is not waited for, again
			t.Errorf("it took %s", took)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "41/cmdline"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	<-earlier.ended
	if err := hung.check(dir); err != nil {
		t.Errorf("it has come back: %v", err)
	}
}

// A report that was written can be read.
func TestTookComesBack(t *testing.T) {
	text, err := json.Marshal(Report{Took: Millis(1234 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil || time.Duration(r.Took) != 1234*time.Millisecond {
		t.Errorf("%s: %v, %v", text, time.Duration(r.Took), err)
	}
}

// A child that was forked and has not executed its program has its parent's command line.
func TestForks(t *testing.T) {
	line := []string{"containerd", "-c", "/x"}
	shim := []string{"shim", "-namespace", "n", "-id", "i"}
	args := &scan.ShimArgs{ID: "i", Namespace: "n"}
	p := map[int]*Process{
		7: {PID: 7, Parent: 1, argv: line}, 8: {PID: 8, Parent: 7, argv: line},
		9: {PID: 9, Parent: 1, argv: shim, Shim: args}, 10: {PID: 10, Parent: 9, argv: shim, Shim: args},
	}
	table := &processTable{byPID: p, candidates: []candidate{{p: p[8]}, {p: p[7]}}}
	table.dropForks()
	if len(table.candidates) != 1 || table.candidates[0].p.PID != 7 || p[9].Shim == nil || p[10].Shim != nil {
		t.Errorf("%+v, %+v", table.candidates, p)
	}
}

// A process that ends while it is read is nobody.
func TestAProcessThatEnds(t *testing.T) {
	table, err := readProcesses(fakeProc(t), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if p := table.byPID[41]; p == nil || p.Shim != nil || p.Comm != "containerd-shim" {
		t.Errorf("%+v", p)
	}
	if _, err := readProcesses(t.TempDir(), func(string) {}); err == nil {
		t.Error("an empty folder is a procfs")
	}
}
