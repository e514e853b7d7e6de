package audit

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/quote"
)

// ofProcess are the files of /proc/PID that the evidence has for each process of a
// suspect. They have no secrets. The command line is added for a shim, whose arguments
// have no secrets, or on request.
var ofProcess = []string{"status", "stat", "wchan", "stack", "syscall", "cgroup", "limits", "mountinfo"}

// The limits of the evidence.
const (
	maxFile      = 4 << 20
	maxProcesses = 200
	maxBundles   = 200
	evidenceTime = 10 * time.Second
)

// Evidence writes a tar.gz with the report and the last Node. It adds the /proc files of
// the suspects' processes, the kernel's list of unix sockets, and more files of the
// caller. With workloads, it adds the command lines, the environment and config.json of
// containers, which may have secrets. Text of the node is quoted line by line. It stops
// when the context ends. Reading all files takes at most evidenceTime, and cut.txt says
// if files are missing.
func (r *Report) Evidence(ctx context.Context, w io.Writer, o Options, workloads bool,
	more map[string][]byte) error {
	o = o.withDefaults()
	short, cancel := context.WithTimeout(ctx, evidenceTime)
	defer cancel()
	zip := gzip.NewWriter(w)
	if !workloads {
		r = r.withoutCommands()
	}
	e := &evidence{ctx: short, tar: tar.NewWriter(zip), at: r.Taken, workloads: workloads, limit: o.hangs}
	for name, what := range map[string]any{"report.json": r, "node.json": r.last} {
		text, err := json.MarshalIndent(what, "", "  ")
		if err != nil {
			return err
		}
		e.put(name, text)
	}
	e.put("report.txt", []byte(r.String()))
	for name, text := range more {
		e.put(name, quoted(text))
	}
	for _, s := range r.Suspects[:min(len(r.Suspects), maxProcesses)] {
		if s.PID != 0 {
			e.process(o.Proc, s.PID, s.Kind == finding.ClassShim || s.Kind == finding.ClassTask)
		}
	}
	for i, v := range r.last.Views {
		dir := fmt.Sprintf("view-%d", i)
		for _, name := range []string{"net/unix", "mountinfo"} {
			e.file(dir+"/"+filepath.Base(name), filepath.Join(filepath.Dir(v.Root), name))
		}
		if v.Untrusted == 0 { // files of an untrusted user must not get into the evidence
			e.bundles(dir, v, r.Suspects)
		}
	}
	if short.Err() != nil {
		e.put("cut.txt", fmt.Appendf(nil, "some files are missing here: reading all took more than %s\n", evidenceTime))
	}
	return errors.Join(ctx.Err(), e.err, e.tar.Close(), zip.Close())
}

// withoutCommands returns the report without the command lines of containers.
func (r *Report) withoutCommands() *Report {
	out := *r
	out.Suspects = slices.Clone(r.Suspects)
	for i := range out.Suspects {
		s := &out.Suspects[i]
		s.Living = slices.Clone(s.Living)
		for j := range s.Living {
			s.Living[j].Command = ""
		}
	}
	return &out
}

type evidence struct {
	ctx       context.Context // stops the reading of files
	tar       *tar.Writer
	at        time.Time
	workloads bool
	limit     time.Duration // the timeout of one file
	err       error         // the first error
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

// file adds a file of /proc, or the error of reading it. A user can make the reading of
// some of these files hang.
func (e *evidence) file(name, from string) {
	if e.ctx.Err() != nil {
		return
	}
	text, err := attempt(e.ctx, from, e.limit, func(func(string)) ([]byte, error) {
		return foreign.ReadFile(from, maxFile)
	})
	if err != nil {
		text = []byte(err.Error())
	}
	e.put(name, quoted(text))
}

// quoted returns the quoted lines of a text. Each NUL ends a line, because the words of a
// command line end with a NUL.
func quoted(text []byte) []byte {
	return []byte(quote.Block(strings.ReplaceAll(string(text), "\x00", "\n"), "") + "\n")
}

func (e *evidence) process(proc string, pid int, ours bool) {
	from, dir := filepath.Join(proc, strconv.Itoa(pid)), "proc/"+strconv.Itoa(pid)
	names := slices.Clone(ofProcess)
	if ours || e.workloads {
		names = append(names, "cmdline")
	}
	if e.workloads {
		names = append(names, "environ")
	}
	for _, name := range names {
		e.file(dir+"/"+name, filepath.Join(from, name))
	}
	var t quote.Text
	err := inventory.EachDescriptor(from, func(fd, target string) error {
		t.Line("%s -> %s", fd, target)
		return e.ctx.Err()
	})
	if err == nil { // else the process has exited, or the time is over
		e.put(dir+"/fd", []byte(t.String()))
	}
}

// bundles adds the small files of suspects' bundles, such as the shim's address. It reads
// only root's files, and follows no links.
func (e *evidence) bundles(dir string, v *View, suspects []Suspect) {
	tree, err := scan.OpenTree(v.Root)
	if err != nil {
		return // the last process with this root has exited
	}
	defer tree.Close()
	until, _ := e.ctx.Deadline()
	t := tree.Of(scan.Owner{}).Within(scan.NewBudget(until, 0, func(string) {}))
	ids := map[string]bool{}
	for _, s := range suspects {
		ids[s.ID] = true
	}
	names := []string{"address", "bootstrap.json", "shim-binary-path", "runtime", "init.pid", "sandbox"}
	if e.workloads {
		names = append(names, "config.json")
	}
	bundles := slices.DeleteFunc(slices.Clone(v.Bundles), func(b inventory.Bundle) bool { return !ids[b.ID] })
	for _, b := range bundles[:min(len(bundles), maxBundles)] {
		if e.ctx.Err() != nil {
			return
		}
		entries, _ := t.List(b.Path) // empty if the bundle was removed
		var list quote.Text
		for _, f := range entries {
			list.Line("%s %s", f.Type(), f.Name())
		}
		e.put(dir+b.Path+"/ls", []byte(list.String()))
		for _, name := range names {
			if text, err := t.ReadFile(filepath.Join(b.Path, name), maxFile); err == nil && len(text) > 0 {
				e.put(dir+b.Path+"/"+name, quoted(text))
			}
		}
	}
}
