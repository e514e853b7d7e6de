package scan

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// UnixSocket is a line of /proc/PID/net/unix.
type UnixSocket struct {
	Path      string // "" for a socket without a name, such as a client's
	Inode     uint64
	Listening bool
}

// acceptCon is __SO_ACCEPTCON of the kernel's include/uapi/linux/net.h. The kernel sets
// it at listen(2).
const acceptCon = 1 << 16

// NetUnix reads the unix sockets of a process's network namespace. proc is the path of
// /proc.
func NetUnix(proc string, pid int) ([]UnixSocket, error) {
	f, err := os.Open(filepath.Join(proc, strconv.Itoa(pid), "net/unix"))
	if err != nil {
		return nil, fmt.Errorf("read unix sockets: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	found, err := ParseNetUnix(f)
	if err != nil {
		return nil, fmt.Errorf("read unix sockets: %w", err)
	}
	return found, nil
}

// Listeners returns the named sockets with a listener.
func Listeners(proc string, pid int) ([]UnixSocket, error) {
	all, err := NetUnix(proc, pid)
	return slices.DeleteFunc(all, func(s UnixSocket) bool { return !s.Listening || s.Path == "" }), err
}

// ByInode returns sockets by their inodes.
func ByInode(all []UnixSocket) map[uint64]UnixSocket {
	out := make(map[uint64]UnixSocket, len(all))
	for _, s := range all {
		out[s.Inode] = s
	}
	return out
}

// ParseNetUnix parses the sockets of /proc/PID/net/unix (proc_pid_net(5)):
//
//	Num RefCount Protocol Flags Type St Inode Path
//
// It skips other lines. They exist, because a name may contain a newline, which the
// kernel does not escape.
func ParseNetUnix(r io.Reader) ([]UnixSocket, error) {
	var out []UnixSocket
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
		out = append(out, UnixSocket{
			Path: strings.Join(fields[7:], " "), Inode: inode, Listening: flags&acceptCon != 0,
		})
	}
	return out, lines.Err()
}

// SocketInode parses the target of a descriptor's link: "socket:[4711]".
func SocketInode(target string) (uint64, bool) {
	digits, ok := strings.CutPrefix(target, "socket:[")
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(strings.TrimSuffix(digits, "]"), 10, 64)
	return inode, err == nil
}
