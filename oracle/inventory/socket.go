package inventory

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/scan"
)

// Socket is a unix socket of a shim: a file, or before containerd 1.4 a name in the
// abstract namespace.
type Socket struct {
	// Path is the file inside the scene, or an abstract name, which starts with "@".
	Path string `json:"path"`
	// Listening reports whether a process listens on it.
	Listening bool `json:"listening"`
	// Inode is the listener's inode in sockfs (the number in /proc/PID/fd links), or 0
	// without a listener.
	Inode uint64 `json:"inode,omitempty"`
	// Beside is the bundle that has the socket file, or "" if the file is elsewhere.
	Beside string `json:"beside,omitempty"`
}

// SocketDirs returns the directories of shims' sockets: the directory s of each state
// directory, and /run/containerd/s, which shims use whatever the state directory is.
func SocketDirs(states ...string) []string {
	dirs := []string{"/run/containerd/s"}
	for _, state := range states {
		if own := path.Join(state, "s"); !slices.Contains(dirs, own) {
			dirs = append(dirs, own)
		}
	}
	return dirs
}

// Sockets lists shim sockets: the files in dirs, the socket files in bundles, and every
// abstract socket with a listener. With an error, it returns the sockets that it found
// before.
func Sockets(t *scan.Tree, dirs []string, bundles []Bundle, listening []scan.UnixSocket) ([]Socket, error) {
	byPath := map[string]scan.UnixSocket{}
	var out []Socket
	for _, l := range listening {
		byPath[l.Path] = l
		if strings.HasPrefix(l.Path, "@") {
			out = append(out, Socket{Path: l.Path, Listening: true, Inode: l.Inode})
		}
	}
	add := func(dir, beside string) error {
		entries, err := t.List(dir)
		if err != nil {
			return fmt.Errorf("list sockets: %w", err)
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSocket == 0 {
				continue
			}
			s := Socket{Path: path.Join(dir, e.Name()), Beside: beside}
			l, ok := byPath[s.Path]
			if !ok && beside != "" {
				l, ok = byPath[e.Name()] // bound with a relative name, from inside the bundle
			}
			s.Listening, s.Inode = ok, l.Inode
			out = append(out, s)
		}
		return nil
	}
	for _, dir := range dirs {
		if err := add(dir, ""); err != nil {
			return out, err
		}
	}
	for _, b := range bundles {
		if err := add(b.Path, b.Path); err != nil {
			return out, err
		}
	}
	return out, nil
}
