package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// otherPlaces are the state and root directories of k3s, rke2 and docker. The audit reads
// them even if no containerd uses them at the moment.
var otherPlaces = []places{
	{state: defaults.state, root: defaults.root},
	{state: "/run/k3s/containerd", root: "/var/lib/rancher/k3s/agent/containerd"},
	{state: "/run/docker/containerd/daemon", root: "/var/lib/docker/containerd/daemon"},
}

// files reads all objects on the view's disk and in its cgroups. Each kind has a walk of
// its own, so that many objects of one kind leave time for the others.
func (w *viewing) files(ctx context.Context, listening []scan.UnixSocket) error {
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
	if err := w.walk(ctx, func() error { return w.orNote(w.sockets(listening)) }); err != nil {
		return err
	}
	hierarchies, err := w.mounts()
	if err != nil {
		return err
	}
	w.territory(hierarchies)
	return w.walk(ctx, func() error {
		for _, h := range hierarchies {
			w.at(h.Point)
			if err := w.orNote(w.cgroups(h)); err != nil {
				return err
			}
		}
		return nil
	})
}

// orNote turns the error about files of another user into a note. Such files are not
// read. For a walk that has reached its limits, walk adds the note.
func (w *viewing) orNote(err error) error {
	if errors.As(err, new(*scan.CutError)) {
		return nil
	}
	if notOwned := new(scan.NotOwnedError); errors.As(err, &notOwned) {
		w.Notes = append(w.Notes, fmt.Sprintf("not read: %v", err))
		return nil
	}
	return err
}

// statesOf returns the existing state and root directories of a view. It resolves
// symbolic links, because /var/run is usually /run, so each directory is listed once.
func (w *viewing) statesOf() []places {
	var out []places
	var seen []fs.FileInfo
	add := func(p places) {
		state, info := w.real(p.state)
		if info == nil || slices.ContainsFunc(seen, func(s fs.FileInfo) bool { return os.SameFile(s, info) }) {
			return
		}
		root, _ := w.real(p.root)
		seen = append(seen, info)
		out = append(out, places{state: state, root: root})
	}
	for _, d := range w.Daemons {
		add(places{state: d.State, root: d.Root})
	}
	if w.View.Untrusted == 0 {
		for _, p := range otherPlaces {
			add(p)
		}
	}
	return out
}

// real returns a path with its symbolic links resolved, and its file information. That is
// nil if the file does not exist.
func (w *viewing) real(name string) (string, fs.FileInfo) {
	f, err := w.tree.Open(name, unix.O_PATH)
	if err != nil {
		return path.Clean(name), nil
	}
	defer f.Close() //nolint:errcheck // of O_PATH
	info, err := f.Stat()
	if err != nil {
		return path.Clean(name), nil
	}
	return f.Name(), info
}

// sockets lists the files of shims' sockets, and the abstract sockets of containerd
// before 1.4. A silent one that is removed meanwhile is left out.
func (w *viewing) sockets(listening []scan.UnixSocket) error {
	ofShims := slices.DeleteFunc(slices.Clone(listening), func(s scan.UnixSocket) bool {
		isAbstract := strings.HasPrefix(s.Path, "@")
		return !w.isSocketOfShim(s.Path) || isAbstract && w.View.Untrusted != 0 || !w.held(s.Inode)
	})
	all, err := inventory.Sockets(w.tree, w.socketDirs(), nil, ofShims)
	for _, found := range all {
		s := Socket{Socket: found}
		isThere := true
		if !s.Listening {
			s.Changed, isThere = w.changed(s.Path, Key{})
		}
		if isThere {
			w.Sockets = append(w.Sockets, s)
		}
	}
	return err
}

// held reports whether a process of root holds a socket. A line in the kernel's list is
// no proof, because a user can forge it (see listening).
func (w *viewing) held(inode uint64) bool {
	if w.View.Untrusted != 0 || len(w.table.denied) > 0 || w.Blind {
		return true
	}
	if w.holds == nil {
		w.holds = map[uint64]bool{}
		for _, p := range w.table.byPID {
			w.hold(p.SocketInodes)
		}
	}
	if !w.holds[inode] && !w.heldByAll { // a shim may have rewritten its command line, so all processes are read
		w.heldByAll = true
		for _, p := range w.table.byPID {
			if p.notRoots == "" && p.Shim == nil {
				w.hold(inventory.HeldSockets(w.table.dir(p.PID)))
			}
		}
	}
	return w.holds[inode]
}

func (w *viewing) hold(inodes []uint64) {
	for _, inode := range inodes {
		w.holds[inode] = true
	}
}

// mounts adds the mounts of containers and of network namespaces to the view, and returns
// the cgroup hierarchies. It counts a container's mount only in containerd's directories,
// because a user can mount elsewhere (fusermount).
func (w *viewing) mounts() ([]inventory.Mount, error) {
	all, err := inventory.Mounts(filepath.Dir(w.Root))
	var hierarchies []inventory.Mount
	for _, m := range all {
		ns, id := scan.MountOwner(m.Point)
		switch {
		case m.IsCgroup():
			hierarchies = append(hierarchies, m)
		case isNetNS(m), w.inDirs(m.Point) && scan.IsName(ns) && scan.IsName(id):
			w.Mounts = append(w.Mounts, m)
		}
	}
	return hierarchies, err
}

// inDirs reports whether a path is in a state or root directory of containerd.
func (w *viewing) inDirs(name string) bool {
	return slices.ContainsFunc(w.dirs, func(p places) bool {
		return strings.HasPrefix(name, p.state+"/") || strings.HasPrefix(name, p.root+"/")
	})
}

// maxState limits the size of runc's state.json, which has the container's whole
// configuration.
const maxState = 4 << 20

// runcInit returns the pid and the start time of a container's init, from runc's
// state.json.
func runcInit(t *scan.Tree, dir string) (pid int, start uint64) {
	var state struct {
		PID   int    `json:"init_process_pid"`
		Start uint64 `json:"init_process_start"`
	}
	text, err := t.ReadFile(path.Join(dir, "state.json"), maxState)
	if err != nil || json.Unmarshal(text, &state) != nil {
		return 0, 0
	}
	return state.PID, state.Start
}

// name finds the containers of the socket files. The name of a shim's socket is a hash of
// containerd's address, the namespace and the id (pkg/shim in containerd).
func name(v *View) {
	of := map[string]Key{}
	add := func(k Key) {
		for _, d := range v.Daemons {
			of[socketName(d.Address, k)] = k
		}
	}
	for k := range v.Known.Containers {
		add(k)
	}
	for _, b := range v.Bundles {
		add(Key{b.Namespace, b.ID})
	}
	for _, p := range v.Processes {
		if p.Shim != nil {
			of[socketName(p.Shim.Address, Key{p.Shim.Namespace, p.Shim.ID})] = Key{p.Shim.Namespace, p.Shim.ID}
		}
	}
	for i, s := range v.Sockets {
		v.Sockets[i].Of = of[path.Base(s.Path)]
	}
}

// socketName returns the name of a shim's socket file.
func socketName(address string, k Key) string {
	sum := sha256.Sum256([]byte(filepath.Join(address, k.Namespace, k.ID)))
	return hex.EncodeToString(sum[:])
}
