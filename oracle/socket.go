package oracle

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
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

// unixSocket is a line of /proc/PID/net/unix.
type unixSocket struct {
	path      string // "" of one without a name: that of a client
	inode     uint64
	listening bool
}

// acceptCon is __SO_ACCEPTCON of the kernel's include/uapi/linux/net.h: listen(2) was
// called.
const acceptCon = 1 << 16

// parseNetUnix reads the sockets of /proc/PID/net/unix (proc_pid_net(5)):
//
//	Num RefCount Protocol Flags Type St Inode Path
//
// A line of another form is passed over: a name may hold a newline, and the kernel does
// not escape it.
func parseNetUnix(r io.Reader) ([]unixSocket, error) {
	var out []unixSocket
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 7 {
			continue
		}
		flags, err := strconv.ParseUint(fields[3], 16, 32)
		if err != nil {
			continue // the header
		}
		inode, err := strconv.ParseUint(fields[6], 10, 64)
		if err != nil {
			continue
		}
		out = append(out, unixSocket{
			path: strings.Join(fields[7:], " "), inode: inode, listening: flags&acceptCon != 0,
		})
	}
	return out, lines.Err()
}

// unixSockets reads the unix sockets of process 1's network namespace.
func unixSockets(proc string) ([]unixSocket, error) {
	f, err := os.Open(filepath.Join(proc, "1/net/unix"))
	if err != nil {
		return nil, fmt.Errorf("read unix sockets: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	found, err := parseNetUnix(f)
	if err != nil {
		return nil, fmt.Errorf("read unix sockets: %w", err)
	}
	return found, nil
}

// listeners are those unix sockets that somebody listens on by a name.
func listeners(proc string) ([]unixSocket, error) {
	all, err := unixSockets(proc)
	return slices.DeleteFunc(all, func(s unixSocket) bool { return !s.listening || s.path == "" }), err
}

// sockets lists shim sockets: the files in dirs, the socket files in bundles, and every
// abstract socket that somebody listens on.
func sockets(t *tree, dirs []string, bundles []Bundle, listening []unixSocket) ([]Socket, error) {
	byPath := map[string]unixSocket{}
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
