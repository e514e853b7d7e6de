package audit

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/scan"
)

// ofProcess is what is kept of each process that a suspect is or has. Its environment is
// not, and its command line only where it is a shim's (which has no secrets) or asked
// for.
var ofProcess = []string{"status", "stat", "wchan", "stack", "syscall", "cgroup", "limits", "mountinfo"}

// Evidence writes a tar.gz of what the audit has seen: the report, the last look, what
// the kernel tells of the suspects' processes, and the kernel's list of unix sockets.
// With workloads, the command lines, the environment and config.json of containers are
// in it, too: they may hold secrets.
func (r *Report) Evidence(w io.Writer, o Options, workloads bool) error {
	o = o.withDefaults()
	zip := gzip.NewWriter(w)
	e := &evidence{tar: tar.NewWriter(zip), at: r.Taken, workloads: workloads}
	for name, what := range map[string]any{"report.json": r, "node.json": r.last} {
		text, err := json.MarshalIndent(what, "", "  ")
		if err != nil {
			return err
		}
		e.put(name, text)
	}
	e.put("report.txt", []byte(r.String()))
	for _, s := range r.Suspects {
		if s.PID != 0 {
			e.process(o.Proc, s.PID, s.Kind == Shim || s.Kind == LostTask)
		}
	}
	for i, v := range r.last.Views {
		dir := fmt.Sprintf("view-%d", i)
		for _, name := range []string{"net/unix", "mountinfo"} {
			e.file(dir+"/"+filepath.Base(name), filepath.Join(filepath.Dir(v.Root), name))
		}
		e.bundles(dir, v, r.Suspects)
	}
	return errors.Join(e.err, e.tar.Close(), zip.Close())
}

type evidence struct {
	tar       *tar.Writer
	at        time.Time
	workloads bool
	err       error // the first
}

func (e *evidence) put(name string, text []byte) {
	if e.err != nil {
		return
	}
	head := &tar.Header{Name: "shimquake-audit/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: e.at}
	if e.err = e.tar.WriteHeader(head); e.err == nil {
		_, e.err = e.tar.Write(text)
	}
}

// file keeps a file as it is. One that is gone is kept as its error: that tells, too.
func (e *evidence) file(name, from string) {
	text, err := os.ReadFile(from)
	if err != nil {
		text = []byte(err.Error() + "\n")
	}
	e.put(name, text)
}

func (e *evidence) process(proc string, pid int, ours bool) {
	from, dir := filepath.Join(proc, itoa(pid)), "proc/"+itoa(pid)
	for _, name := range ofProcess {
		e.file(dir+"/"+name, filepath.Join(from, name))
	}
	if ours || e.workloads {
		e.file(dir+"/cmdline", filepath.Join(from, "cmdline"))
	}
	if e.workloads {
		e.file(dir+"/environ", filepath.Join(from, "environ"))
	}
	entries, err := os.ReadDir(filepath.Join(from, "fd"))
	if err != nil {
		return
	}
	var b strings.Builder
	for _, f := range entries {
		to, _ := os.Readlink(filepath.Join(from, "fd", f.Name())) // closed meanwhile
		fmt.Fprintf(&b, "%s -> %s\n", f.Name(), to)
	}
	e.put(dir+"/fd", []byte(b.String()))
}

// bundles keeps the small files of suspects' bundles that say how to reach the shim.
func (e *evidence) bundles(dir string, v *View, suspects []Suspect) {
	t, err := scan.OpenTree(v.Root)
	if err != nil {
		return // its last process has ended since
	}
	defer t.Close()
	ids := map[string]bool{}
	for _, s := range suspects {
		ids[s.ID] = true
	}
	names := []string{"address", "bootstrap.json", "shim-binary-path", "runtime", "init.pid", "sandbox"}
	if e.workloads {
		names = append(names, "config.json")
	}
	for _, b := range v.Bundles {
		if !ids[b.ID] {
			continue
		}
		entries, _ := t.List(b.Path) // gone meanwhile
		var list strings.Builder
		for _, f := range entries {
			fmt.Fprintf(&list, "%s %s\n", f.Type(), f.Name())
		}
		e.put(dir+b.Path+"/ls", []byte(list.String()))
		for _, name := range names {
			if text := t.ReadAll(filepath.Join(b.Path, name)); text != "" {
				e.put(dir+b.Path+"/"+name, []byte(text))
			}
		}
	}
}
