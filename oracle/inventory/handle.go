package inventory

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/poll"
)

// Handles are what a process of containerd's holds: its descriptors and its goroutines.
type Handles struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	// Shim is whose shim it is; nil: it is containerd itself.
	Shim *ShimArgs `json:"shim,omitempty"`
	// Collected is set where a shim has collected its garbage just before it was looked at.
	// Of one that was not asked to, no goroutines are known.
	Collected bool   `json:"collected,omitempty"`
	Held      []Held `json:"held,omitempty"`
}

// Held is how many of one kind a process holds.
type Held struct {
	Kind string `json:"kind"` // ADescriptor, AConnection, AWatch, AGoroutine
	// Of is what it leads to, without ids: "/run/containerd/s/*". Of a goroutine it is
	// the innermost function of containerd's own that it is in, or else its Root.
	Of string `json:"of"`
	// Root is the function that a goroutine has begun with.
	Root  string `json:"root,omitempty"`
	Count int    `json:"count"`
	// Stack are the functions of the last goroutine of them, the innermost first.
	Stack string `json:"stack,omitempty"`
}

// handles reads what containerd and the shims among the processes hold. The goroutines
// come first: the connection that they are asked for over is a descriptor, too, and is
// there then in each look.
func handles(ctx context.Context, s Scene, all []Process) ([]Handles, error) {
	if s.Daemon == 0 {
		return nil, nil
	}
	var goroutines []Held
	if s.Profile != nil {
		var err error
		if goroutines, err = askGoroutines(ctx, s); err != nil {
			return nil, fmt.Errorf("ask containerd for its goroutines: %w", err)
		}
	}
	listed, err := scan.NetUnix(s.Proc, 1)
	if err != nil {
		return nil, err
	}
	sockets := make(map[uint64]scan.UnixSocket, len(listed))
	for _, u := range listed {
		sockets[u.Inode] = u
	}
	out := []Handles{}
	for _, p := range all {
		daemon := p.PID == s.Daemon
		if !daemon && (!p.Serves() || p.Foreign) {
			continue
		}
		h := Handles{PID: p.PID, Start: p.Start, Shim: p.Shim}
		var own []Held
		if daemon {
			own = goroutines
		} else if own, h.Collected, err = askShim(ctx, s, p.PID); err != nil {
			return nil, fmt.Errorf("ask shim process %d for its goroutines: %w", p.PID, err)
		}
		h.Held, err = readDescriptors(filepath.Join(s.Proc, strconv.Itoa(p.PID)), s.ContainerdRoot, sockets)
		if gone(err) && !daemon {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the descriptors of process %d: %w", p.PID, err)
		}
		h.Held = append(own, h.Held...)
		out = append(out, h)
	}
	if !slices.ContainsFunc(out, func(h Handles) bool { return h.Shim == nil }) {
		return nil, fmt.Errorf("containerd, process %d, ended while it was looked at", s.Daemon)
	}
	return out, nil
}

// beginPause is how long a goroutine is given to begin.
const beginPause = time.Millisecond

// askGoroutines asks until all goroutines have begun: of one that has not, nobody knows
// what it is going to be.
func askGoroutines(ctx context.Context, s Scene) ([]Held, error) {
	var p goroutines
	err := poll.Until(ctx, beginPause, func() (bool, error) {
		text, err := s.Profile(ctx)
		if err != nil {
			return false, err
		}
		p, err = parseGoroutines(bytes.NewReader(text))
		return p.unbegun() == 0, err
	})
	return p.held, err
}

// shimPatience is how long a shim may take to collect its garbage and answer: some 2 ms.
// One that stands still never does.
const shimPatience = 500 * time.Millisecond

// askShim has a shim collect its garbage, and asks until all its goroutines have begun;
// ok is false where it does not answer.
func askShim(ctx context.Context, s Scene, pid int) (held []Held, ok bool, err error) {
	if s.ShimProfile == nil {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, shimPatience)
	defer cancel()
	var p goroutines
	err = poll.Until(ctx, beginPause, func() (bool, error) {
		text, answers := s.ShimProfile(ctx, pid)
		if !answers {
			return false, errNoAnswer
		}
		var err error
		p, err = parseGoroutines(strings.NewReader(text))
		return p.nameless == 0, err
	})
	if errors.Is(err, errNoAnswer) || ctx.Err() != nil {
		return nil, false, nil
	}
	return p.held, err == nil, err
}

// errNoAnswer says that a shim gives no profile.
var errNoAnswer = errors.New("the shim does not answer")

// readDescriptors counts the open descriptors of a process, whose folder in a procfs is
// dir. A path below root, which is containerd's, begins with "/root".
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

// counted is a list of what was counted, in an order that is always the same.
func counted(counts map[Held]int) []Held {
	out := make([]Held, 0, len(counts))
	for h, n := range counts {
		h.Count = n
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Held) int {
		return cmp.Or(
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.Of, b.Of), strings.Compare(a.Root, b.Root),
		)
	})
	return out
}

// link is an open descriptor.
type link struct {
	target  string
	watches int // of an inotify instance
	// protocol of a socket: TCP, NETLINK, UNIX-STREAM.
	protocol string
}

// inotifyLink is where the descriptor of an inotify instance leads to.
const inotifyLink = "anon_inode:inotify"

// descriptors reads the open descriptors of a process from its folder in a procfs. One
// that is closed meanwhile is left out.
func descriptors(dir string) ([]link, error) {
	fds, err := os.Open(filepath.Join(dir, "fd"))
	if err != nil {
		return nil, err
	}
	defer fds.Close() //nolint:errcheck // read-only
	names, err := fds.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	out := make([]link, 0, len(names))
	var buf [unix.PathMax]byte
	for _, name := range names {
		n, err := unix.Readlinkat(int(fds.Fd()), name, buf[:])
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("descriptor %s: %w", name, err)
		}
		l := link{target: string(buf[:n])}
		switch {
		case l.target == inotifyLink:
			l.watches, err = watches(filepath.Join(dir, "fdinfo", name))
		case strings.HasPrefix(l.target, "socket:"):
			l.protocol, err = protocol(filepath.Join(dir, "fd", name))
		}
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func watches(file string) (int, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // read-only
	return parseWatches(f)
}

// protocol is the name of a socket's protocol, which the kernel has as an attribute of
// its descriptor's link (sockfs_xattr_get in net/socket.c). Go listens by MPTCP where
// the kernel has that; it is TCP all the same.
func protocol(file string) (string, error) {
	var buf [64]byte
	n, err := unix.Getxattr(file, "system.sockprotoname", buf[:])
	if err != nil {
		return "", &os.PathError{Op: "getxattr system.sockprotoname", Path: file, Err: err}
	}
	return strings.TrimSuffix(strings.TrimPrefix(unix.ByteSliceToString(buf[:n]), "MP"), "v6"), nil
}

// parseWatches counts the watches in the fdinfo of an inotify instance, a line each
// (proc_pid_fdinfo(5)):
//
//	inotify wd:2 ino:7ef82a sdev:800001 mask:800afff ignored_mask:0 ...
func parseWatches(r io.Reader) (int, error) {
	n, lines := 0, bufio.NewScanner(r)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "inotify ") {
			n++
		}
	}
	return n, lines.Err()
}

// descriptor says what a descriptor's link leads to (proc_pid_fd(5)): a path, or
// TYPE:[INODE], or anon_inode:NAME.
func descriptor(l link, sockets map[uint64]scan.UnixSocket) Held {
	if inode, ok := scan.SocketInode(l.target); ok {
		s, ok := sockets[inode]
		switch {
		case !ok: // of another family; or it was accepted, and the client is outside of the world
			return Held{Kind: fact.ADescriptor, Of: "socket " + l.protocol}
		case s.Listening:
			return Held{Kind: fact.ADescriptor, Of: withoutIDs(s.Path)}
		case s.Path == "":
			return Held{Kind: fact.AConnection, Of: "outgoing"} // only who listens has a name
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

// withoutIDs is a path with a star for each folder or file whose name has a digit: ids of
// containers, namespaces and worlds. containerd's plugins have their own names.
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
