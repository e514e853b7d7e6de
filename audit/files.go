package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// usualPlaces are the state and root directories of containerd by default, of k3s, rke2
// and docker. The audit reads them even if no containerd uses them at the moment.
var usualPlaces = []inventory.Places{
	{State: "/run/containerd", Root: "/var/lib/containerd"},
	{State: "/run/k3s/containerd", Root: "/var/lib/rancher/k3s/agent/containerd"},
	{State: "/run/docker/containerd/daemon", Root: "/var/lib/docker/containerd/daemon"},
}

// files reads all objects on the view's disk and in its cgroups. Each kind has a walk of
// its own, so that many objects of one kind leave time for the others.
func (w *viewing) files(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, filesTime)
	defer cancel()
	for _, k := range kinds {
		if k.read == nil {
			continue
		}
		if err := w.walk(ctx, func() error { return w.orNote(k.read(w)) }); err != nil {
			return err
		}
	}
	return nil
}

// orNote turns the error about files of another user into a note. Such files are not
// read. For a walk that has reached its limits, walk adds the note.
func (w *viewing) orNote(err error) error {
	switch {
	case errors.As(err, new(*scan.CutError)):
		return nil
	case errors.As(err, new(*scan.NotOwnedError)):
		w.note("not read: %v", err)
		return nil
	}
	return err
}

// statesOf returns the existing state and root directories of a view. It resolves
// symbolic links, because /var/run is usually /run, so each directory is listed once.
func (w *viewing) statesOf() (out []inventory.Places) {
	var all []inventory.Places
	for _, d := range w.Daemons {
		all = append(all, d.Places)
	}
	if w.View.Untrusted == 0 {
		all = append(all, usualPlaces...)
	}
	for _, p := range all {
		p.State, p.Root = w.real(p.State), cmp.Or(w.real(p.Root), p.Root)
		if p.State != "" && !slices.ContainsFunc(out, func(o inventory.Places) bool { return o.State == p.State }) {
			out = append(out, p)
		}
	}
	return out
}

// real returns a path with its symbolic links resolved, or "" if the file does not exist.
func (w *viewing) real(name string) string {
	f, err := w.tree.Open(name, unix.O_PATH)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // of O_PATH
	return f.Name()
}

// bundles lists the bundles and the work directories.
func (w *viewing) bundles() error {
	for _, dir := range w.dirs {
		err := scan.EachBundle(w.tree, dir.State, dir.Root, func(b inventory.Bundle) {
			if k := (Key{b.Namespace, b.ID}); k.isValid() && w.remains(b.Path, k) {
				w.know(k, Known{Found: true})
				w.Bundles = append(w.Bundles, b)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runcRoots are the default folders for runc's state of shims and of docker.
var runcRoots = []string{"/run/containerd/runc", "/run/docker/runtime-runc"}

// runcStates lists runc's states.
func (w *viewing) runcStates() error {
	for _, root := range runcRoots {
		err := scan.EachRuncState(w.tree, root, func(r inventory.RuncState) {
			k := Key{r.Namespace, r.ID}
			if s := w.initOf(r); k.isValid() && w.remains(r.Path, k) && w.budget.Cut() == nil {
				w.know(k, Known{Found: true})
				w.RuncStates = append(w.RuncStates, s)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sockets lists the files of shims' sockets, and the abstract sockets of containerd
// before 1.4. A silent one that is removed meanwhile is left out.
func (w *viewing) sockets() error {
	ofShims := slices.DeleteFunc(slices.Clone(w.listening), func(s scan.UnixSocket) bool {
		return !w.isSocketOfShim(s.Path) || strings.HasPrefix(s.Path, "@") && w.View.Untrusted != 0
	})
	all, err := inventory.Sockets(w.tree, w.socketDirs(), nil, w.ofRoot(ofShims))
	for _, s := range all {
		if s.Listening || w.remains(s.Path, Key{}) {
			w.Sockets = append(w.Sockets, s)
		}
	}
	return err
}

// ofRoot returns the sockets that a process of root holds. A line in the kernel's list is
// no proof, because a user can forge it (see listening).
func (w *viewing) ofRoot(sockets []scan.UnixSocket) []scan.UnixSocket {
	if w.View.Untrusted != 0 || len(w.denied) > 0 || w.Blind {
		return sockets
	}
	unheld := scan.ByInode(sockets)
	for _, inodes := range []func(*Process) []uint64{
		func(p *Process) []uint64 { return p.SocketInodes },
		// The socket is forged, or is of a shim that has rewritten its command line.
		func(p *Process) []uint64 { return inventory.HeldSockets(w.dir(p.PID)) },
	} {
		for _, p := range w.byPID {
			if p.notRoots == "" && len(unheld) > 0 {
				for _, inode := range inodes(p) {
					delete(unheld, inode)
				}
			}
		}
	}
	return slices.DeleteFunc(sockets, func(s scan.UnixSocket) bool {
		_, isForged := unheld[s.Inode]
		return isForged
	})
}

// mounts lists the mounts of containers and of network namespaces, and then the cgroups
// in the mounted hierarchies. It counts a container's mount only in containerd's
// directories, because a user can mount elsewhere (fusermount).
func (w *viewing) mounts() error {
	all, err := inventory.Mounts(filepath.Dir(w.Root))
	if err != nil {
		return err
	}
	var hierarchies []inventory.Mount
	for _, m := range all {
		if m.IsCgroup() {
			hierarchies = append(hierarchies, m)
		} else if isNetNS(m) || w.ownerOf(m.Point) != (Key{}) {
			w.Mounts = append(w.Mounts, m)
		}
	}
	w.territory(hierarchies)
	for _, h := range hierarchies {
		w.at(h.Point)
		if err := w.cgroups(h); err != nil && w.budget.Cut() == nil {
			w.note("not read: %v", err)
		}
	}
	return nil
}

// More is read about an object without a task: its age, and the processes of a cgroup. It
// is read with the object, so that a walk that is cut leaves out whole objects. A healthy
// node has few objects without a task. Mounts are not accessed, because their file
// systems may hang.

// remains reports whether an object still exists, unless the walk has reached its limits.
// It notes the time of the last change of an object without a task.
func (w *viewing) remains(name string, of Key) bool {
	if w.Known[of].Task != nil {
		return true
	}
	info, err := w.tree.Stat(name)
	if err != nil { // the file of another user is reported without its age
		return !errors.Is(err, fs.ErrNotExist) && w.budget.Cut() == nil
	}
	w.Changed[name] = info.ModTime()
	return true
}

// maxState limits the size of runc's state.json, which has the container's whole
// configuration.
const maxState = 4 << 20

// initOf returns the init of a container, from runc's state of it.
func (w *viewing) initOf(r inventory.RuncState) State {
	var init struct {
		PID   int    `json:"init_process_pid"`
		Start uint64 `json:"init_process_start"`
	}
	text, err := w.tree.ReadFile(path.Join(r.Path, "state.json"), maxState)
	if err != nil || json.Unmarshal(text, &init) != nil {
		return State{RuncState: r}
	}
	return State{r, init.PID, init.Start}
}
