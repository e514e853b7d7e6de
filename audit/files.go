package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/shimquake/shimquake/oracle/scan"
)

// otherPlaces are state and root of the containerds of k3s, rke2 and docker: looked at
// also where that containerd is down.
var otherPlaces = []places{
	{state: defaults.state, root: defaults.root},
	{state: "/run/k3s/containerd", root: "/var/lib/rancher/k3s/agent/containerd"},
	{state: "/run/docker/containerd/daemon", root: "/var/lib/docker/containerd/daemon"},
}

// files reads all that lies on the view's disk and in its cgroups.
func (l *look) files(t *scan.Tree, v *View, listening []scan.UnixSocket) error {
	for _, k := range kinds {
		if k.read == nil {
			continue
		}
		if err := k.read(l, t, v); err != nil {
			return err
		}
	}
	if err := l.sockets(t, v, listening); err != nil {
		return err
	}
	hierarchies, err := l.mounts(v)
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		l.reading(h)
		l.cgroups(t, v, h)
	}
	return nil
}

// statesOf are the state and root directories of a view that are there, each once:
// /var/run is usually /run.
func statesOf(t *scan.Tree, v *View) []places {
	var out []places
	var seen []fs.FileInfo
	add := func(p places) {
		info := t.Stat(path.Clean(p.state) + "/.")
		if info == nil || slices.ContainsFunc(seen, func(s fs.FileInfo) bool { return os.SameFile(s, info) }) {
			return
		}
		seen = append(seen, info)
		out = append(out, places{state: path.Clean(p.state), root: path.Clean(p.root)})
	}
	for _, d := range v.Daemons {
		add(places{state: d.State, root: d.Root})
	}
	for _, p := range otherPlaces {
		add(p)
	}
	return out
}

// sockets lists the files of shims' sockets, and the abstract ones of containerd before
// 1.4.
func (l *look) sockets(t *scan.Tree, v *View, listening []scan.UnixSocket) error {
	byPath := map[string]uint64{}
	for _, s := range listening {
		byPath[s.Path] = s.Inode
		if strings.HasPrefix(s.Path, "@/containerd-shim/") {
			v.Sockets = append(v.Sockets, Socket{Path: s.Path, Listening: true, Inode: s.Inode})
		}
	}
	for _, dir := range socketDirs(v) {
		entries, err := t.List(dir)
		if err != nil {
			return fmt.Errorf("list sockets: %w", err)
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSocket == 0 {
				continue
			}
			name := path.Join(dir, e.Name())
			inode, ok := byPath[name]
			v.Sockets = append(v.Sockets, Socket{Path: name, Listening: ok, Inode: inode})
		}
	}
	return nil
}

// mounts keeps the mounts of containers and of network namespaces, and returns the mount
// points of the cgroup hierarchies.
func (l *look) mounts(v *View) ([]string, error) {
	f, err := os.Open(filepath.Join(filepath.Dir(v.Root), "mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	infos, err := mountinfo.GetMountsFromReader(f, nil)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	var hierarchies []string
	for _, m := range infos {
		switch {
		case m.FSType == "cgroup" || m.FSType == "cgroup2":
			hierarchies = append(hierarchies, m.Mountpoint)
		case m.FSType == "nsfs" && strings.HasPrefix(m.Root, "net:"):
			v.Mounts = append(v.Mounts, Mount{Point: m.Mountpoint, Type: m.FSType, NetNS: m.Root})
		default:
			if _, id := scan.MountOwner(m.Mountpoint); id != "" {
				v.Mounts = append(v.Mounts, Mount{Point: m.Mountpoint, Type: m.FSType})
			}
		}
	}
	return hierarchies, nil
}

// runcInit reads the pid and the start of a container's init from runc's state.json.
func runcInit(t *scan.Tree, dir string) (pid int, start uint64) {
	var state struct {
		PID   int    `json:"init_process_pid"`
		Start uint64 `json:"init_process_start"`
	}
	if json.Unmarshal([]byte(t.ReadAll(path.Join(dir, "state.json"))), &state) != nil {
		return 0, 0
	}
	return state.PID, state.Start
}

// name reports whose the names of socket files are: a shim's socket is called after a
// hash of containerd's address, the namespace and the id (pkg/shim in containerd).
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
			of[socketName(p.Address, Key{p.Shim.Namespace, p.Shim.ID})] = Key{p.Shim.Namespace, p.Shim.ID}
		}
	}
	for i, s := range v.Sockets {
		v.Sockets[i].Of = of[path.Base(s.Path)]
	}
}

// socketName is the name of a shim's socket file.
func socketName(address string, k Key) string {
	sum := sha256.Sum256([]byte(filepath.Join(address, k.Namespace, k.ID)))
	return hex.EncodeToString(sum[:])
}
