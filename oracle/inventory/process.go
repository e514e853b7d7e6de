package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/scan"
)

// ShimArgs are the arguments of a shim's command line.
type ShimArgs = scan.ShimArgs

// Process is one process of the scene's PID namespace.
type Process struct {
	PID    int    `json:"pid"`
	Parent int    `json:"parent"`
	Start  uint64 `json:"start"` // in clock ticks since boot (proc_pid_stat(5)); identifies the process, with PID
	Comm   string `json:"comm"`
	// Exe is "" for a zombie, and if it cannot be read.
	Exe  string   `json:"exe,omitempty"`
	Argv []string `json:"argv,omitempty"` // empty for a zombie
	// State is the letter of proc_pid_stat(5): R, S, D, T, Z ...
	State string `json:"state"`
	// Cgroup is the deepest of its cgroup paths, as seen from the harness's cgroup
	// namespace.
	Cgroup   string `json:"cgroup,omitempty"`
	Children []int  `json:"children,omitempty"`
	// Threads is for people only. Go keeps a thread after a blocking call, and the number
	// of concurrent blocking calls is random. So no rule can limit it.
	Threads int `json:"threads,omitempty"`
	// Shim is set if the command line is that of a shim.
	Shim *ShimArgs `json:"shim,omitempty"`
	// Foreign marks a shim in another PID namespace than process 1: a shim of a
	// containerd that runs in a container.
	Foreign bool `json:"foreign,omitempty"`
	// SocketInodes are the sockets that a shim holds open. Other processes have none
	// here.
	SocketInodes []uint64 `json:"socketInodes,omitempty"`
	// Own marks a process of the harness: init, containerd, a helper.
	Own bool `json:"own,omitempty"`
}

// Serves reports whether the process is a running shim, and not a short-lived helper.
func (p Process) Serves() bool { return p.Shim != nil && p.Shim.Action == "" && !p.Zombie() }

// Zombie reports whether the process has exited, and was not reaped.
func (p Process) Zombie() bool { return p.State == "Z" || p.State == "X" }

// Family returns the facts of the process's children, and of a state that delays its end.
func (p Process) Family() fact.Facts {
	fs := fact.Facts{fact.Children: fact.None}
	switch p.State {
	case "Z", "X":
		fs[fact.State], fs[fact.ParentPID] = fact.AZombie, strconv.Itoa(p.Parent)
	case "T", "t":
		fs[fact.State] = fact.AStopped
	case "D":
		fs[fact.State] = fact.Uninterruptible
	}
	if len(p.Children) > 0 {
		fs[fact.Children], fs[fact.ChildPIDs] = fact.Some, strings.Trim(fmt.Sprint(p.Children), "[]")
	}
	return fs
}

// Processes lists only the processes of the scene's PID namespace.
func Processes(s Scene) ([]Process, error) {
	s = s.withDefaults()
	return processes(s.Proc, s.Own)
}

// kernelThread is PF_KTHREAD of the kernel's include/linux/sched.h, in the flags of
// proc_pid_stat(5). A missing executable and command line are not enough: an exiting
// process that waits for the umount of its mount namespace has neither. The parent does
// not show it either, because process 2 of a world is containerd.
const kernelThread = 0x00200000

// processes reads the process table of a procfs. It leaves out processes that end
// meanwhile, and kernel threads, which are no leaks.
func processes(dir string, own func(int) bool) ([]Process, error) {
	proc, err := procfs.NewFS(dir)
	if err != nil {
		return nil, fmt.Errorf("open the scene's procfs (is its init alive?): %w", err)
	}
	home := Link(filepath.Join(dir, "1"), "ns/pid")
	all, err := proc.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	out := make([]Process, 0, len(all))
	for _, entry := range all {
		at := filepath.Join(dir, strconv.Itoa(entry.PID))
		p, isUser, err := Stat(entry)
		if err == nil && isUser && !p.Zombie() {
			err = p.read(entry, at)
		}
		if gone(err) || err == nil && !isUser {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read process %d: %w", entry.PID, err)
		}
		p.Own = own(p.PID)
		theirs := ""
		if p.Shim != nil {
			theirs = Link(at, "ns/pid")
		}
		p.Foreign = home != "" && theirs != "" && home != theirs // "" if it cannot be read
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Process) int { return a.PID - b.PID })
	index := make(map[int]int, len(out))
	for i, p := range out {
		index[p.PID] = i
	}
	for _, p := range out {
		if i, ok := index[p.Parent]; ok {
			out[i].Children = append(out[i].Children, p.PID)
		}
	}
	return out, nil
}

// Stat reads proc_pid_stat(5). It reports false for a kernel thread.
func Stat(entry procfs.Proc) (p Process, isUser bool, err error) {
	s, err := entry.Stat()
	return Process{PID: s.PID, Parent: s.PPID, Start: s.Starttime, Comm: s.Comm, State: s.State, Threads: s.NumThreads},
		s.Flags&kernelThread == 0, err
}

// ReadCommand reads the command line, and the sockets of a shim. dir is the folder of the
// process in a procfs.
func (p *Process) ReadCommand(entry procfs.Proc, dir string) (err error) {
	if p.Argv, err = entry.CmdLine(); err != nil {
		return err
	}
	if args, ok := scan.ParseShimArgs(p.Argv); ok {
		p.Shim, p.SocketInodes = &args, HeldSockets(dir)
	}
	return nil
}

func (p *Process) read(entry procfs.Proc, dir string) error {
	// Without an executable it is exiting, which is no error.
	p.Exe, _ = entry.Executable()
	if groups, err := entry.Cgroups(); err == nil {
		for _, g := range groups {
			if depth(g.Path) > depth(p.Cgroup) {
				p.Cgroup = g.Path
			}
		}
	}
	return p.ReadCommand(entry, dir)
}

// Link returns the target of a link in the folder of a process, such as
// "pid:[4026531836]" for ns/pid. It returns "" if it cannot be read.
func Link(dir, name string) string {
	to, _ := os.Readlink(filepath.Join(dir, name))
	return to
}

func depth(cgroup string) int {
	return strings.Count(strings.TrimSuffix(cgroup, "/"), "/")
}

// gone reports whether an error means that the process exited while it was read.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
