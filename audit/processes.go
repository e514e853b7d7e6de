package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/inventory"
)

// userHz is USER_HZ, the unit of start times in /proc: 100 on every Linux that Go has.
const userHz = 100

// processTable has the processes in /proc, without kernel threads and without processes
// that exit during the scan. It reads only stat and status of a user's process. The user
// could fill the other files with any text, or make their reads hang (with a command line
// in a FUSE file). It is complete before the first view, and views only read it.
type processTable struct {
	Options
	files procfs.FS     // of the auditor's descriptors, in place of pids
	up    time.Duration // since boot
	byPID map[int]*Process
	// candidates are the processes that may be containerds.
	candidates []*Process
	// denied are the pids of processes that the auditor may not read.
	denied []int
	// unread are the reasons why processes of root were left out.
	unread []string
	userNS string // the auditor's user namespace
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
	t := &processTable{Options: o, up: time.Duration(up.Nano()), byPID: make(map[int]*Process, len(entries))}
	if t.files, err = procfs.NewFS("/proc/self/fd"); err != nil {
		return nil, fmt.Errorf("open the audit's own descriptors: %w", err)
	}
	if t.userNS, err = os.Readlink("/proc/self/ns/user"); err != nil {
		return nil, fmt.Errorf("read the audit's user namespace: %w", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p, err := attempt(ctx, t.dir(pid), o.hangs, func(func(string)) (*Process, error) { return t.read(pid), nil })
		if err != nil { // the audit continues without it
			t.unread = append(t.unread, err.Error())
		} else if p != nil {
			t.byPID[pid] = p
		}
	}
	if len(t.byPID)+len(t.unread) == 0 {
		return nil, fmt.Errorf("%s has no process: is it a procfs?", o.Proc)
	}
	t.classify()
	return t, nil
}

// dir returns the folder of a process.
func (t *processTable) dir(pid int) string { return filepath.Join(t.Proc, strconv.Itoa(pid)) }

// classify notes the children of each process, and the candidates. It leaves out forked
// processes that have not executed their program yet: such a child still has its parent's
// command line.
func (t *processTable) classify() {
	pids := slices.Sorted(maps.Keys(t.byPID))
	for _, pid := range pids {
		p := t.byPID[pid]
		parent := t.byPID[p.Parent]
		if parent != nil {
			parent.Children = append(parent.Children, pid)
		}
		if parent != nil && len(p.Argv) > 0 && slices.Equal(p.Argv, parent.Argv) {
			p.Shim, p.where = nil, nil
		}
		if p.where != nil {
			t.candidates = append(t.candidates, p)
		}
		if p.denied {
			t.denied = append(t.denied, pid)
		}
	}
}

// read reads one process. It returns nil if the process has exited meanwhile.
func (t *processTable) read(pid int) *Process {
	fd, err := unix.Open(t.dir(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd) //nolint:errcheck // of O_PATH
	files, err := t.files.Proc(fd)
	if err != nil {
		return nil
	}
	stat, isUser, err := inventory.Stat(files)
	if err != nil || !isUser {
		return nil
	}
	p := &Process{Process: stat, dir: "/proc/self/fd/" + strconv.Itoa(fd)} // never of another process with its pid
	p.PID, p.Inner = pid, pid
	p.Age = (t.up - time.Duration(p.Start)*(time.Second/userHz)).Round(time.Second)
	if p.Zombie() || !t.identify(p, files) {
		return p
	}
	was := p.notRoots
	p.command(files, t.Untrusted)
	// A child of sudo or of a login may have changed its user between the two reads.
	if (p.where != nil || p.Shim != nil) && (!t.identify(p, files) || p.notRoots != was) {
		p.Shim, p.where, p.denied = nil, nil, false
	}
	return p
}

// identify reads the user of a process.
func (t *processTable) identify(p *Process, files procfs.Proc) bool {
	st, err := files.NewStatus()
	if err != nil {
		return false
	}
	p.UID, p.notRoots, p.pids = int(st.UIDs[0]), t.notRoots(p, st), st.NSpids
	return true
}

// notRoots returns why a process does not count as a process of root, or "". Root without
// CAP_SYS_ADMIN (an unprivileged pod), or in another user namespace, counts as a user:
// containerd and shims need to mount.
func (t *processTable) notRoots(p *Process, s procfs.ProcStatus) string {
	switch {
	case s.UIDs[0] != 0:
		return fmt.Sprintf("uid %d", s.UIDs[0])
	case s.CapEff&(1<<unix.CAP_SYS_ADMIN) == 0:
		return "root without CAP_SYS_ADMIN"
	}
	switch ns, err := os.Readlink(p.dir + "/ns/user"); {
	case errors.Is(err, fs.ErrPermission):
		return unreadable
	case ns != t.userNS:
		return "root of another user namespace"
	}
	return ""
}

// unreadable is the reason for a process that the auditor may not read.
const unreadable = "it may not be read"

// command reads the command line, unless a user may have chosen it. It notes whether the
// process is a shim, and whether it may be a containerd.
func (p *Process) command(files procfs.Proc, ofUsers bool) {
	if p.notRoots != "" && p.notRoots != unreadable && !ofUsers {
		if p.Comm == "containerd" {
			p.where = &places{}
		}
		return
	}
	if p.ReadCommand(files, p.dir) != nil {
		return
	}
	isNamed := p.Shim != nil && p.served().isValid()
	switch {
	case p.notRoots == unreadable:
		_, isDaemon := isContainerd("containerd", p.Argv)
		p.denied = p.Shim != nil || isDaemon && p.Comm == "containerd"
		p.Shim = nil
	case isNamed:
		p.pidns, p.Cwd = p.link("ns/pid"), p.link("cwd")
	default:
		p.Shim = nil
		if p.Comm != "containerd" && (len(p.Argv) == 0 || path.Base(p.Argv[0]) != "containerd") {
			return // a readlink for each process would be slow
		}
		p.Exe = p.link("exe")
		if where, ok := isContainerd(p.Exe, p.Argv); ok && p.Exe != "" {
			p.where, p.pidns, p.SocketInodes = &where, p.link("ns/pid"), inventory.HeldSockets(p.dir)
		}
	}
}

func (p *Process) link(name string) string {
	to, err := os.Readlink(p.dir + "/" + name)
	p.denied = p.denied || errors.Is(err, fs.ErrPermission)
	return to
}

// depth returns the number of levels from the auditor's PID namespace down to the
// process's own.
func (p *Process) depth() int { return max(len(p.pids)-1, 0) }

// family returns the topmost visible ancestor of a process in its PID namespace, and the
// descendants of this ancestor. A parent that is as deep is in the same namespace.
func (t *processTable) family(p *Process) []*Process {
	for range len(t.byPID) { // a pid that was reused during the scan may make a cycle
		parent := t.byPID[p.Parent]
		if parent == nil || parent.depth() < p.depth() {
			break
		}
		p = parent
	}
	all := []*Process{p}
	for i := 0; i < len(all) && len(all) <= len(t.byPID); i++ { // as above
		for _, pid := range all[i].Children {
			all = append(all, t.byPID[pid])
		}
	}
	return all
}
