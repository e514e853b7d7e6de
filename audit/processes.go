package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/scan"
)

// userHz is USER_HZ, the unit of start times in /proc: 100 on every Linux that Go has.
const userHz = 100

// processTable reads /proc. What ends meanwhile is left out, and so are kernel threads.
type processTable struct {
	proc   string // "/proc"
	uptime float64
	byPID  map[int]*Process
	// candidates are the processes that may be containerds.
	candidates []candidate
	// denied are processes that may not be looked at.
	denied []int
	buffer []byte
	// at says what is being read: a read of /proc can hang (mmap_sem, a dead NFS server).
	at func(what string)
}

type candidate struct {
	p     *Process
	exe   string
	where places
}

func readProcesses(proc string, at func(string)) (*processTable, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: is %s a procfs? %w", proc, err)
	}
	up, err := os.ReadFile(filepath.Join(proc, "uptime"))
	if err != nil {
		return nil, fmt.Errorf("read the uptime: %w", err)
	}
	t := &processTable{proc: proc, uptime: parseUptime(string(up)), byPID: make(map[int]*Process, len(entries)), at: at}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			t.read(pid)
		}
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

// dropForks takes those for nothing that have been forked and have not executed their
// program yet: until then a child has its parent's command line.
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

// read reads one process. Any error means that it has ended, or may not be read: then it
// is nobody that the audit knows.
func (t *processTable) read(pid int) {
	dir := filepath.Join(t.proc, strconv.Itoa(pid))
	t.at(dir)
	text, err := t.file(dir + "/stat")
	if err != nil {
		return
	}
	s, err := parseStat(string(text))
	if err != nil || s.kernel {
		return
	}
	p := &Process{PID: pid, Inner: pid, Parent: s.parent, Start: s.start, State: s.state, Comm: s.comm}
	p.Age = time.Duration((t.uptime - float64(s.start)/userHz) * float64(time.Second)).Round(time.Second)
	t.byPID[pid] = p
	if p.Zombie() {
		return
	}
	line, err := t.file(dir + "/cmdline")
	if err != nil {
		return
	}
	p.argv = parseCmdline(line)
	if args, ok := scan.ParseShimArgs(p.argv); ok {
		p.Shim = &args
		p.Address, p.Program = shimFlag(p.argv, "address"), path.Base(p.argv[0])
		p.pidns = t.link(pid, "ns/pid")
		p.sockets, p.Cwd = t.sockets(pid), t.link(pid, "cwd")
		return
	}
	exe := ""
	if p.Comm == "containerd" || len(p.argv) > 0 && path.Base(p.argv[0]) == "containerd" {
		exe = t.link(pid, "exe") // only of those: a readlink for each process is dear
	}
	if where, ok := isContainerd(exe, p.argv); ok && exe != "" {
		p.pidns = t.link(pid, "ns/pid")
		t.candidates = append(t.candidates, candidate{p, exe, where})
	}
}

// file reads a small file of /proc, in half of the system calls of os.ReadFile: there are
// two for each process of the node. What it returns holds until the next call.
func (t *processTable) file(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // read-only
	if t.buffer == nil {
		t.buffer = make([]byte, 16<<10) // a longer command line is cut: a shim's is not
	}
	n := 0
	for n < len(t.buffer) {
		got, err := unix.Read(fd, t.buffer[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if got == 0 {
			break
		}
		n += got
	}
	return t.buffer[:n], nil
}

func (t *processTable) link(pid int, name string) string {
	to, err := os.Readlink(filepath.Join(t.proc, strconv.Itoa(pid), name))
	if errors.Is(err, fs.ErrPermission) && !slices.Contains(t.denied, pid) {
		t.denied = append(t.denied, pid)
	}
	return to
}

// sockets are the inodes of the sockets that a process holds.
func (t *processTable) sockets(pid int) []uint64 {
	dir := filepath.Join(t.proc, strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []uint64
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if inode, ok := scan.SocketInode(to); ok {
			out = append(out, inode)
		}
	}
	return out
}

// inner is a process's pid in a PID namespace that is depth namespaces below the
// auditor's; 0 where it has none.
func (t *processTable) inner(pid, depth int) int {
	if depth == 0 {
		return pid
	}
	text, err := t.file(filepath.Join(t.proc, strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	pids := parseNSpid(string(text))
	if depth >= len(pids) {
		return 0
	}
	return pids[depth]
}

// depth is how many PID namespaces a process is below the auditor's.
func (t *processTable) depth(pid int) int {
	text, err := os.ReadFile(filepath.Join(t.proc, strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	return max(len(parseNSpid(string(text)))-1, 0)
}

// family is a process and all that descend from it.
func (t *processTable) family(pid int) []*Process {
	var out []*Process
	var add func(pid int)
	seen := map[int]bool{}
	add = func(pid int) {
		p := t.byPID[pid]
		if p == nil || seen[pid] { // a pid may have been given anew while it was read
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

// top is the first process of a PID namespace, as far up as can be seen from one of its
// processes.
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
