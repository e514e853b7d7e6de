package scan

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// UnixSocket is a line of /proc/PID/net/unix.
type UnixSocket struct {
	Path      string // "" of one without a name: that of a client
	Inode     uint64
	Listening bool
}

// acceptCon is __SO_ACCEPTCON of the kernel's include/uapi/linux/net.h: listen(2) was
// called.
const acceptCon = 1 << 16

// ParseNetUnix reads the sockets of /proc/PID/net/unix (proc_pid_net(5)):
//
//	Num RefCount Protocol Flags Type St Inode Path
//
// A line of another form is passed over: a name may hold a newline, and the kernel does
// not escape it.
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

// SocketInode reads the target of a descriptor's link: "socket:[4711]".
func SocketInode(target string) (uint64, bool) {
	digits, ok := strings.CutPrefix(target, "socket:[")
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(strings.TrimSuffix(digits, "]"), 10, 64)
	return inode, err == nil
}
