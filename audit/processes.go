package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/scan"
)

// userHz is USER_HZ, the unit of start times in /proc: 100 on every Linux that Go has.
const userHz = 100

// processTable has the processes in /proc, without kernel threads and without processes
// that exit during the scan. It reads only stat and status of a user's process. The user
// could fill the other files with any text, or make their reads hang (with a command line
// in a FUSE file).
type processTable struct {
	proc  string        // "/proc"
	files procfs.FS     // of the auditor's descriptors, in place of pids
	up    time.Duration // since boot
	byPID map[int]*Process
	// candidates are the processes that may be containerds.
	candidates []candidate
	// denied are the pids of processes that the auditor may not read.
	denied []int
	// unread are the reasons why processes of root were left out.
	unread []string
	userNS string // the auditor's user namespace
	all    bool   // also read all files of users' processes
}

type candidate struct {
	p     *Process
	exe   string
	where places
}

// entry is the result of reading one process.
type entry struct {
	p         *Process
	candidate *candidate
	denied    bool
}

func readProcesses(ctx context.Context, o Options) (*processTable, error) {
	entries, err := os.ReadDir(o.Proc) //nolint:forbidigo // /proc
	if err != nil {
		return nil, fmt.Errorf("list processes: is %s a procfs? %w", o.Proc, err)
	}
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return nil, fmt.Errorf("read the uptime: %w", err)
	}
	t := &processTable{proc: o.Proc, up: time.Duration(up.Nano()), byPID: make(map[int]*Process, len(entries)),
		all: o.Untrusted}
	if t.files, err = procfs.NewFS("/proc/self/fd"); err != nil {
		return nil, fmt.Errorf("open the audit's own descriptors: %w", err)
	}
	if t.userNS, err = os.Readlink("/proc/self/ns/user"); err != nil {
		return nil, fmt.Errorf("read the audit's user namespace: %w", err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			t.add(ctx, pid, o.hangs)
		}
	}
	if len(t.byPID)+len(t.unread) == 0 {
		return nil, fmt.Errorf("%s has no process: is it a procfs?", o.Proc)
	}
	for pid, p := range t.byPID {
		if parent := t.byPID[p.Parent]; parent != nil {
			parent.Children = append(parent.Children, pid)
		}
	}
	for _, p := range t.byPID {
		slices.Sort(p.Children)
	}
	t.dropForks()
	return t, nil
}

// add reads one process, and continues without it if the read hangs.
func (t *processTable) add(ctx context.Context, pid int, limit time.Duration) {
	r := reader{table: t, pid: pid, dir: filepath.Join(t.proc, strconv.Itoa(pid))}
	e, err := attempt(ctx, r.dir, limit, func(func(string)) entry { return r.read() })
	if err != nil {
		t.unread = append(t.unread, err.Error())
		return
	}
	if e.denied {
		t.denied = append(t.denied, pid)
	}
	if e.p == nil {
		return
	}
	t.byPID[pid] = e.p
	if e.candidate != nil {
		t.candidates = append(t.candidates, *e.candidate)
	}
}

// dropForks removes forked processes that have not executed their program yet. Such a
// child still has its parent's command line.
func (t *processTable) dropForks() {
	fork := func(p *Process) bool {
		parent := t.byPID[p.Parent]
		return parent != nil && len(p.argv) > 0 && slices.Equal(p.argv, parent.argv)
	}
	t.candidates = slices.DeleteFunc(t.candidates, func(c candidate) bool { return fork(c.p) })
	for _, p := range t.byPID {
		if p.Shim != nil && fork(p) {
			p.Shim = nil
		}
	}
}

// reader reads one process.
type reader struct {
	table  *processTable // it is only read
	pid    int
	dir    string
	fd     int // of dir; it stays with this process, even if its pid is used again
	files  procfs.Proc
	denied bool
}

// read returns the zero entry for a process that has exited meanwhile.
func (r *reader) read() entry {
	var err error
	if r.fd, err = unix.Open(r.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return entry{}
	}
	defer unix.Close(r.fd) //nolint:errcheck // of O_PATH
	if r.files, err = r.table.files.Proc(r.fd); err != nil {
		return entry{}
	}
	s, err := r.files.Stat()
	if err != nil || s.Flags&scan.KernelThread != 0 {
		return entry{}
	}
	p := &Process{PID: r.pid, Inner: r.pid, Parent: s.PPID, Start: s.Starttime, State: s.State, Comm: s.Comm}
	p.Age = (r.table.up - time.Duration(s.Starttime)*(time.Second/userHz)).Round(time.Second)
	if p.Zombie() {
		return entry{p: p}
	}
	if !r.identify(p) {
		return entry{p: p}
	}
	c := r.program(p)
	if was := p.notRoots; c != nil || p.Shim != nil {
		// A child of sudo or of a login may have changed its user between the two reads.
		if !r.identify(p) || p.notRoots != was {
			p.Shim = nil
			return entry{p: p}
		}
	}
	return entry{p: p, candidate: c, denied: r.denied}
}

// identify reads the user of a process.
func (r *reader) identify(p *Process) bool {
	st, err := r.files.NewStatus()
	if err != nil {
		return false
	}
	p.UID, p.notRoots = int(st.UIDs[0]), r.notRoots(st)
	p.pids = nil // it is read twice
	for _, pid := range st.NSpids {
		p.pids = append(p.pids, int(pid))
	}
	return true
}

// notRoots returns why a process does not count as a process of root, or "". Root without
// CAP_SYS_ADMIN (an unprivileged pod), or in another user namespace, counts as a user:
// containerd and shims need to mount.
func (r *reader) notRoots(s procfs.ProcStatus) string {
	switch {
	case s.UIDs[0] != 0:
		return fmt.Sprintf("uid %d", s.UIDs[0])
	case s.CapEff&(1<<unix.CAP_SYS_ADMIN) == 0:
		return "root without CAP_SYS_ADMIN"
	}
	switch ns, err := r.readlink("ns/user"); {
	case errors.Is(err, fs.ErrPermission):
		return unreadable
	case ns != r.table.userNS:
		return "root of another user namespace"
	}
	return ""
}

// unreadable is the reason for a process that the auditor may not read.
const unreadable = "it may not be read"

// program reads the command line. It notes in p that the process is a shim, and returns a
// candidate for a containerd.
func (r *reader) program(p *Process) *candidate {
	if p.notRoots != "" && p.notRoots != unreadable && !r.table.all {
		if p.Comm == "containerd" {
			return &candidate{p: p}
		}
		return nil
	}
	var err error
	if p.argv, err = r.files.CmdLine(); err != nil {
		return nil
	}
	if p.notRoots == unreadable {
		_, isShim := scan.ParseShimArgs(p.argv)
		_, isDaemon := isContainerd("containerd", p.argv)
		r.denied = isShim || isDaemon && p.Comm == "containerd"
		return nil
	}
	if args, ok := scan.ParseShimArgs(p.argv); ok && isName(args.ID) && isName(args.Namespace) {
		p.Shim = &args
		p.Address, p.Program = args.Address, path.Base(p.argv[0])
		p.pidns, p.Cwd = r.link("ns/pid"), r.link("cwd")
		p.sockets = sockets(r.own())
		return nil
	}
	if p.Comm != "containerd" && (len(p.argv) == 0 || path.Base(p.argv[0]) != "containerd") {
		return nil // a readlink for each process would be slow
	}
	exe := r.link("exe")
	where, ok := isContainerd(exe, p.argv)
	if !ok || exe == "" {
		return nil
	}
	p.pidns, p.sockets = r.link("ns/pid"), sockets(r.own())
	return &candidate{p, exe, where}
}

// own returns a path to the process's directory that never leads to another process.
func (r *reader) own() string { return "/proc/self/fd/" + strconv.Itoa(r.fd) }

func (r *reader) readlink(name string) (string, error) { return os.Readlink(r.own() + "/" + name) }

func (r *reader) link(name string) string {
	to, err := r.readlink(name)
	r.denied = r.denied || errors.Is(err, fs.ErrPermission)
	return to
}

func (t *processTable) link(pid int, name string) string {
	to, _ := os.Readlink(filepath.Join(t.proc, strconv.Itoa(pid), name)) // "" if it has exited, or may not be read
	return to
}

// maxDescriptors limits the descriptors of a process that are read.
const maxDescriptors = 100_000

// sockets returns the inodes of the sockets that a process holds. dir is its directory
// in /proc.
func sockets(dir string) []uint64 {
	f, err := os.Open(dir + "/fd") //nolint:forbidigo // of /proc
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read-only
	names, _ := f.Readdirnames(maxDescriptors)
	var out []uint64
	for _, name := range names {
		to, err := os.Readlink(dir + "/fd/" + name)
		if err != nil {
			continue
		}
		if inode, ok := scan.SocketInode(to); ok {
			out = append(out, inode)
		}
	}
	return out
}

// inner returns a process's pid in the PID namespace that is depth levels below the
// auditor's, or 0 if it has no pid there.
func (t *processTable) inner(pid, depth int) int {
	if depth == 0 {
		return pid
	}
	if p := t.byPID[pid]; p != nil && depth < len(p.pids) {
		return p.pids[depth]
	}
	return 0
}

// depth returns the number of levels from the auditor's PID namespace down to the
// process's own.
func (t *processTable) depth(pid int) int {
	if p := t.byPID[pid]; p != nil {
		return max(len(p.pids)-1, 0)
	}
	return 0
}

// family returns a process and its descendants.
func (t *processTable) family(pid int) []*Process {
	var out []*Process
	var add func(pid int)
	seen := map[int]bool{}
	add = func(pid int) {
		p := t.byPID[pid]
		if p == nil || seen[pid] { // a pid that was reused during the scan may make a cycle
			return
		}
		seen[pid] = true
		out = append(out, p)
		for _, c := range p.Children {
			add(c)
		}
	}
	add(pid)
	return out
}

// top returns the topmost visible ancestor of a process in its PID namespace.
func (t *processTable) top(pid int) int {
	p := t.byPID[pid]
	if p == nil {
		return pid
	}
	ns := t.link(pid, "ns/pid")
	for range len(t.byPID) {
		parent := t.byPID[p.Parent]
		if parent == nil || t.link(parent.PID, "ns/pid") != ns {
			break
		}
		p = parent
	}
	return p.PID
}
