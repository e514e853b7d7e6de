package inventory

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"

	containerd "github.com/containerd/containerd/v2/client"

	"github.com/shimquake/shimquake/oracle/finding"
)

// ErrNoDaemon says that containerd could not be asked, so nothing may be called clean.
var ErrNoDaemon = errors.New("containerd was not asked: start it and give Scene.Client")

// Scene is the place that an inventory is taken of. The zero value of a field is its
// documented default.
type Scene struct {
	// Root is the prefix of the mount namespace under test: "/proc/1234/root" for a world
	// whose init is process 1234, "/" (the default) for a live node.
	Root string
	// Proc is the procfs of the PID namespace under test. Default: Root + "/proc". Its
	// process 1 gives the mount table and the listening unix sockets (mountinfo and
	// net/unix).
	Proc string
	// State and ContainerdRoot are containerd's state and root directory, inside the scene.
	// Defaults: /run/containerd and /var/lib/containerd.
	State, ContainerdRoot string
	// SocketDirs are the directories of shim sockets, inside the scene. Default:
	// /run/containerd/s, which shims use whatever containerd's own state directory is, and
	// State/s.
	SocketDirs []string
	// RuncRoot holds a directory per containerd namespace with runc's state of each
	// container. Default: /run/containerd/runc (the shim's default, whatever the state
	// directory).
	RuncRoot string
	// CgroupDirs are host paths of the scene's cgroup subtree: one for each hierarchy (v1)
	// or one (v2).
	CgroupDirs []string
	// FIFODirs are directories inside the scene that hold clients' FIFOs, at any depth to 6.
	// Default: /run/containerd/fifo.
	FIFODirs []string
	// FileDirs are the directories inside the scene in which every new file is a leak that
	// files.yaml does not allow. What is mounted below one is not looked into, unless it is
	// one of them. Default: none, since only what was there before tells what is new.
	FileDirs []string
	// OwnFile says which files there are the harness's, and all that is in them. Default:
	// none.
	OwnFile func(path string) bool
	// Client is nil while containerd is down. Its address is of no matter to the oracle.
	Client *containerd.Client
	// Namespaces are containerd namespaces to ask for; empty: ask containerd for them.
	Namespaces []string
	// CollectIn is the containerd namespace in which garbage is made, so that it is
	// collected. Default: the first that containerd knows.
	CollectIn string
	// Snapshotters to ask. Default: overlayfs.
	Snapshotters []string
	// Daemon is containerd's process in the scene's PID namespace; 0: nobody's descriptors
	// are looked at.
	Daemon int
	// Profile reads containerd's goroutine profile in its text form (net/http/pprof,
	// debug=1). Default: its goroutines are not looked at.
	Profile func(context.Context) ([]byte, error)
	// ShimProfile has a shim collect its garbage, and reads its goroutine profile then, in
	// the same form, by the shim's process in the scene's PID namespace; false where it
	// cannot be asked. Default: none can.
	ShimProfile func(ctx context.Context, pid int) (string, bool)
	// Networks are the calls of the pods' CNI plugin. Default: there is none that notes
	// them.
	Networks func() ([]NetworkCall, error)
	// Own says which processes (in the scene's PID namespace) belong to the harness: init,
	// containerd, helpers. Default: process 1 alone.
	Own func(pid int) bool
}

// withDefaults fills the documented defaults in.
func (s Scene) withDefaults() Scene {
	if s.Root == "" {
		s.Root = "/"
	}
	if s.Proc == "" {
		s.Proc = filepath.Join(s.Root, "proc")
	}
	if s.State == "" {
		s.State = "/run/containerd"
	}
	if s.ContainerdRoot == "" {
		s.ContainerdRoot = "/var/lib/containerd"
	}
	if s.SocketDirs == nil {
		s.SocketDirs = []string{"/run/containerd/s"}
		if own := path.Join(s.State, "s"); !slices.Contains(s.SocketDirs, own) {
			s.SocketDirs = append(s.SocketDirs, own)
		}
	}
	if s.RuncRoot == "" {
		s.RuncRoot = "/run/containerd/runc"
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

// parts are the classes that a look covers; nil covers all.
type parts map[finding.Class]bool

func (p parts) has(any ...finding.Class) bool {
	return p == nil || slices.ContainsFunc(any, func(c finding.Class) bool { return p[c] })
}
