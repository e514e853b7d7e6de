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

	kernel bool // a kernel thread
}

// Serves reports whether the process is a running shim, and not a short-lived helper.
func (p Process) Serves() bool { return p.Shim != nil && p.Shim.Action == "" && !p.Zombie() }

// Zombie reports whether the process has exited, and was not reaped.
func (p Process) Zombie() bool { return p.State == "Z" || p.State == "X" }

// processes reads the process table of a procfs. It leaves out processes that end
// meanwhile, and kernel threads, which are no leaks.
func processes(dir string, own func(int) bool) ([]Process, error) {
	proc, err := procfs.NewFS(dir)
	if err != nil {
		return nil, fmt.Errorf("open the scene's procfs (is its init alive?): %w", err)
	}
	all, err := proc.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	out := make([]Process, 0, len(all))
	for _, entry := range all {
		p, err := readProcess(entry)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read process %d: %w", entry.PID, err)
		}
		if p.kernel {
			continue
		}
		p.Own = own(p.PID)
		out = append(out, p)
	}
	markForeign(dir, out)
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

func readProcess(entry procfs.Proc) (Process, error) {
	stat, err := entry.Stat()
	if err != nil {
		return Process{}, err
	}
	p := Process{
		PID: stat.PID, Parent: stat.PPID, Start: stat.Starttime, Comm: stat.Comm, State: stat.State,
		Threads: stat.NumThreads,
		kernel:  stat.Flags&scan.KernelThread != 0,
	}
	if p.Zombie() {
		return p, nil
	}
	if p.Argv, err = entry.CmdLine(); err != nil {
		return p, err
	}
	// Without an executable it is a kernel thread, or is exiting. Neither is an error.
	p.Exe, _ = entry.Executable()
	if groups, err := entry.Cgroups(); err == nil {
		for _, g := range groups {
			if depth(g.Path) > depth(p.Cgroup) {
				p.Cgroup = g.Path
			}
		}
	}
	if args, ok := scan.ParseShimArgs(p.Argv); ok {
		p.Shim = &args
		targets, _ := entry.FileDescriptorTargets() // an error is ignored: the targets only add facts to findings
		for _, target := range targets {
			if inode, ok := scan.SocketInode(target); ok {
				p.SocketInodes = append(p.SocketInodes, inode)
			}
		}
	}
	return p, nil
}

// markForeign sets Foreign by a comparison of the PID namespaces of shims and of process
// 1. If they cannot be read, no shim is foreign.
func markForeign(dir string, all []Process) {
	home := ""
	for i := range all {
		if all[i].Shim == nil {
			continue
		}
		if home == "" {
			home = pidNamespace(dir, 1)
		}
		theirs := pidNamespace(dir, all[i].PID)
		all[i].Foreign = home != "" && theirs != "" && home != theirs
	}
}

// pidNamespace reads the link PID/ns/pid, such as "pid:[4026531836]", or returns "". It
// does not use package procfs, which reads the links of all namespaces.
func pidNamespace(dir string, pid int) string {
	name, _ := os.Readlink(filepath.Join(dir, strconv.Itoa(pid), "ns", "pid"))
	return name
}

func depth(cgroup string) int {
	return strings.Count(strings.TrimSuffix(cgroup, "/"), "/")
}

// gone reports whether an error means that the process exited while it was read.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
