package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/scan"
)

// readDescriptors counts the open descriptors of the process with the folder dir in a
// procfs. A path below containerd's root begins with "/root".
func readDescriptors(dir, root string, sockets map[uint64]scan.UnixSocket) ([]Held, error) {
	links, err := descriptors(dir)
	if err != nil {
		return nil, err
	}
	counts := map[Held]int{}
	for _, l := range links {
		if rest, below := strings.CutPrefix(l.target, root+"/"); below && root != "" {
			l.target = "/root/" + rest
		}
		counts[descriptor(l, sockets)]++
		if l.watches > 0 {
			counts[Held{Kind: fact.AWatch, Of: "inotify"}] += l.watches
		}
	}
	return counted(counts), nil
}

// openFile is an open descriptor.
type openFile struct {
	target  string
	watches int // the number of watches of an inotify instance
	// protocol is the protocol of a socket: TCP, NETLINK, UNIX-STREAM.
	protocol string
}

// inotifyLink is the target of an inotify instance's descriptor.
const inotifyLink = "anon_inode:inotify"

// maxDescriptors limits the descriptors of a process that are read.
const maxDescriptors = 100_000

// EachDescriptor calls visit with the number and the target of the open descriptors of a
// process, until it returns an error. dir is the folder of the process in a procfs. It
// leaves out descriptors that are closed meanwhile.
func EachDescriptor(dir string, visit func(fd, target string) error) error {
	fds, err := os.Open(filepath.Join(dir, "fd"))
	if err != nil {
		return err
	}
	defer fds.Close() //nolint:errcheck // read-only
	names, err := fds.Readdirnames(maxDescriptors)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var buf [unix.PathMax]byte
	for _, name := range names {
		n, err := unix.Readlinkat(int(fds.Fd()), name, buf[:])
		if err == nil {
			err = visit(name, string(buf[:n]))
		}
		if err != nil && !gone(err) {
			return fmt.Errorf("descriptor %s: %w", name, err)
		}
	}
	return nil
}

// HeldSockets returns the inodes of the sockets that a process holds. It returns the
// readable ones, because they only add facts to findings.
func HeldSockets(dir string) (inodes []uint64) {
	_ = EachDescriptor(dir, func(_, target string) error {
		if inode, ok := scan.SocketInode(target); ok {
			inodes = append(inodes, inode)
		}
		return nil
	})
	return inodes
}

// descriptors reads the open descriptors of a process.
func descriptors(dir string) (out []openFile, err error) {
	err = EachDescriptor(dir, func(fd, target string) (err error) {
		l := openFile{target: target}
		switch {
		case target == inotifyLink:
			var info []byte
			info, err = os.ReadFile(filepath.Join(dir, "fdinfo", fd))
			l.watches = bytes.Count(info, []byte("\ninotify ")) // a line for each watch (proc_pid_fdinfo(5))
		case strings.HasPrefix(target, "socket:"):
			l.protocol, err = protocol(filepath.Join(dir, "fd", fd))
		}
		if err == nil {
			out = append(out, l)
		}
		return err
	})
	return out, err
}

// protocol returns the name of a socket's protocol, an attribute of its descriptor's link
// (sockfs_xattr_get in net/socket.c). MPTCP, with which Go listens if the kernel has it,
// counts as TCP.
func protocol(file string) (string, error) {
	var buf [64]byte
	n, err := unix.Getxattr(file, "system.sockprotoname", buf[:])
	if err != nil {
		return "", &os.PathError{Op: "getxattr system.sockprotoname", Path: file, Err: err}
	}
	return strings.TrimSuffix(strings.TrimPrefix(unix.ByteSliceToString(buf[:n]), "MP"), "v6"), nil
}

// descriptor returns the target of a descriptor's link (proc_pid_fd(5)). It is a path, or
// TYPE:[INODE], or anon_inode:NAME.
func descriptor(l openFile, sockets map[uint64]scan.UnixSocket) Held {
	if inode, ok := scan.SocketInode(l.target); ok {
		s, ok := sockets[inode]
		switch {
		case !ok: // another family, or a client outside of the world
			return Held{Kind: fact.ADescriptor, Of: "socket " + l.protocol}
		case s.Listening:
			return Held{Kind: fact.ADescriptor, Of: withoutIDs(s.Path)}
		case s.Path == "":
			return Held{Kind: fact.AConnection, Of: "outgoing"} // only listeners have a name
		}
		return Held{Kind: fact.AConnection, Of: withoutIDs(s.Path)}
	}
	if strings.HasPrefix(l.target, "/") {
		return Held{Kind: fact.ADescriptor, Of: withoutIDs(l.target)}
	}
	if name, ok := strings.CutPrefix(l.target, "anon_inode:"); ok {
		return Held{Kind: fact.ADescriptor, Of: strings.Trim(name, "[]")}
	}
	kind, _, _ := strings.Cut(l.target, ":[") // pipe, net, mnt
	return Held{Kind: fact.ADescriptor, Of: kind}
}

// withoutIDs replaces each part of a path that has a digit by a star: ids of containers,
// namespaces and worlds. containerd's plugins have their own names.
func withoutIDs(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		id := strings.ContainsAny(part, "0123456789") || i > 0 && parts[i-1] == "worlds"
		if id && !strings.HasPrefix(part, "io.containerd.") {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}
