package inventory

import (
	"cmp"
	"context"
	"errors"
	"slices"

	containerd "github.com/containerd/containerd/v2/client"

	"github.com/shimquake/shimquake/oracle/finding"
)

// ErrNoDaemon reports that containerd could not be asked. Then it is unknown whether
// something is left.
var ErrNoDaemon = errors.New("containerd was not asked: start it and give Scene.Client")

// Scene says where the files, processes and sockets of one containerd are. A zero field
// has the default that its comment names.
type Scene struct {
	// Root is the prefix of the mount namespace under test: the path of a world's root, or
	// "/" (the default) for a live node.
	Root string
	// Proc is a procfs of the PID namespace under test. No program of the scene may have
	// mounted anything on it, so it is not the /proc below a Root. The default is "/proc"
	// for the default Root. The mount table and the listening unix sockets are read from
	// its process 1 (mountinfo and net/unix).
	Proc string
	// State and ContainerdRoot are containerd's state and root directory, inside the scene.
	// Defaults: /run/containerd and /var/lib/containerd.
	State, ContainerdRoot string
	// SocketDirs are the directories of shim sockets, inside the scene. Default: State/s,
	// and /run/containerd/s, which shims use whatever containerd's state directory is.
	SocketDirs []string
	// RuncRoot has a directory for each containerd namespace, with runc's state of each
	// container. Default: /run/containerd/runc, the shim's own default.
	RuncRoot string
	// CgroupDirs are host paths of the scene's cgroup subtree: one for each hierarchy (v1)
	// or one (v2).
	CgroupDirs []string
	// FIFODirs are directories inside the scene. Clients' FIFOs are in them, up to 6
	// levels deep. Default: /run/containerd/fifo.
	FIFODirs []string
	// FileDirs are the directories inside the scene in which every new file is a leak
	// unless files.yaml allows it. Mounts below them are skipped unless they are listed,
	// too. Default: none, because an inventory alone does not show what is new.
	FileDirs []string
	// OwnFile reports whether a file, or its directory, belongs to the harness. Default:
	// none.
	OwnFile func(path string) bool
	// Client is a client of containerd, or nil while containerd is down.
	Client *containerd.Client
	// Namespaces are the containerd namespaces to list. Default: all that containerd has.
	Namespaces []string
	// CollectIn is the containerd namespace of the snapshot and the lease with which
	// Collect starts a collection. Default: the first one that containerd has.
	CollectIn string
	// Snapshotters are the snapshotters to list. Default: overlayfs.
	Snapshotters []string
	// Daemon is the pid of containerd in the scene's PID namespace. Default: no handles
	// are read.
	Daemon int
	// Profile reads containerd's goroutine profile in its text form (net/http/pprof,
	// debug=1). Default: containerd's goroutines are not read.
	Profile func(context.Context) ([]byte, error)
	// ShimProfile makes a shim collect its garbage, and reads its goroutine profile in
	// the same form. It takes the shim's pid in the scene's PID namespace. It returns
	// false if the shim cannot be asked. Default: no shim can be asked.
	ShimProfile func(ctx context.Context, pid int) (string, bool)
	// Networks returns the calls that the pods' CNI plugin has recorded. Default: no
	// plugin records calls.
	Networks func() ([]NetworkCall, error)
	// Own reports whether a process (in the scene's PID namespace) belongs to the
	// harness: init, containerd, helpers. Default: only process 1.
	Own func(pid int) bool
}

// withDefaults fills in the documented defaults.
func (s Scene) withDefaults() Scene {
	if s.Root == "" {
		s.Root, s.Proc = "/", cmp.Or(s.Proc, "/proc")
	}
	s.State = cmp.Or(s.State, "/run/containerd")
	s.ContainerdRoot = cmp.Or(s.ContainerdRoot, "/var/lib/containerd")
	s.RuncRoot = cmp.Or(s.RuncRoot, "/run/containerd/runc")
	if s.SocketDirs == nil {
		s.SocketDirs = SocketDirs(s.State)
	}
	if s.FIFODirs == nil {
		s.FIFODirs = []string{"/run/containerd/fifo"}
	}
	if s.Snapshotters == nil {
		s.Snapshotters = []string{"overlayfs"}
	}
	if s.OwnFile == nil {
		s.OwnFile = func(string) bool { return false }
	}
	if s.Own == nil {
		s.Own = func(pid int) bool { return pid == 1 }
	}
	return s
}

func (s Scene) places() Places { return Places{Root: s.ContainerdRoot, State: s.State} }

// parts are the wanted classes of an inventory, or nil for all.
type parts map[finding.Class]bool

func (p parts) has(any ...finding.Class) bool {
	return p == nil || slices.ContainsFunc(any, func(c finding.Class) bool { return p[c] })
}
