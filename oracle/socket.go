package oracle

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Socket is a unix socket that shims serve on: a file, or a name in the abstract
// namespace (containerd before 1.4).
type Socket struct {
	// Path is the file inside the scene; an abstract name starts with "@".
	Path string `json:"path"`
	// Listening reports whether a process listens on it.
	Listening bool `json:"listening"`
	// Inode is the listener's in sockfs (the number in /proc/PID/fd links), 0 when nobody
	// listens.
	Inode uint64 `json:"inode,omitempty"`
	// Beside is the bundle that holds the socket file, "" elsewhere.
	Beside string `json:"beside,omitempty"`
}

// listener is a line of /proc/PID/net/unix with the listening flag.
type listener struct {
	path  string
	inode uint64
}

// acceptCon is __SO_ACCEPTCON of the kernel's include/uapi/linux/net.h: listen(2) was
// called.
const acceptCon = 1 << 16

// parseNetUnix reads the listening sockets of /proc/PID/net/unix (proc_pid_net(5)):
//
//	Num RefCount Protocol Flags Type St Inode Path
//
// A line of another form is passed over: a name may hold a newline, and the kernel does
// not escape it.
func parseNetUnix(r io.Reader) ([]listener, error) {
	var out []listener
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 {
			continue // the header, or a socket without a name
		}
		flags, err := strconv.ParseUint(fields[3], 16, 32)
		if err != nil || flags&acceptCon == 0 {
			continue
		}
		inode, err := strconv.ParseUint(fields[6], 10, 64)
		if err != nil {
			continue
		}
		out = append(out, listener{path: strings.Join(fields[7:], " "), inode: inode})
	}
	return out, lines.Err()
}

// listeners reads the listening unix sockets of process 1's network namespace.
func listeners(proc string) ([]listener, error) {
	f, err := os.Open(filepath.Join(proc, "1/net/unix"))
	if err != nil {
		return nil, fmt.Errorf("read listening sockets: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	found, err := parseNetUnix(f)
	if err != nil {
		return nil, fmt.Errorf("read listening sockets: %w", err)
	}
	return found, nil
}

// sockets lists shim sockets: the files in dirs, the socket files in bundles, and every
// abstract socket that somebody listens on.
func sockets(t *tree, dirs []string, bundles []Bundle, listening []listener) ([]Socket, error) {
	byPath := map[string]listener{}
	var out []Socket
	for _, l := range listening {
		byPath[l.path] = l
		if strings.HasPrefix(l.path, "@") {
			out = append(out, Socket{Path: l.path, Listening: true, Inode: l.inode})
		}
	}
	add := func(dir, beside string) error {
		entries, err := t.list(dir)
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
				l, ok = byPath[e.Name()] // bound by a relative name, from the bundle
			}
			s.Listening, s.Inode = ok, l.inode
			out = append(out, s)
		}
		return nil
	}
	for _, dir := range dirs {
		if err := add(dir, ""); err != nil {
			return nil, err
		}
	}
	for _, b := range bundles {
		if err := add(b.Path, b.Path); err != nil {
			return nil, err
		}
	}
	return out, nil
}
