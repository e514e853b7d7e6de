package inventory

import (
	"fmt"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/scan"
)

func TestDescriptor(t *testing.T) {
	sockets := map[uint64]scan.UnixSocket{
		1: {Path: "/run/containerd/containerd.sock", Inode: 1, Listening: true},
		2: {Path: "/run/containerd/containerd.sock.ttrpc", Inode: 2},
		3: {Inode: 3},
	}
	must.Table(t, "testdata/descriptors.txt", func(target string) string {
		return fmt.Sprintf("%+v", descriptor(openFile{target: target, protocol: "NETLINK"}, sockets))
	})
}

// This process opens one descriptor of each kind, and the count rises by one.
func TestOwnDescriptors(t *testing.T) {
	folder := t.TempDir()
	inotify := must.Get(unix.InotifyInit1(unix.IN_CLOEXEC))(t)
	t.Cleanup(func() { _ = unix.Close(inotify) })
	for _, tc := range []struct {
		open func() (func() error, error)
		want []Held
	}{
		{func() (func() error, error) { f, err := os.Open("/dev/zero"); return f.Close, err },
			[]Held{{Kind: fact.ADescriptor, Of: "/dev/zero", Count: 1}}},
		{func() (func() error, error) {
			var p [2]int
			err := unix.Pipe2(p[:], unix.O_CLOEXEC)
			return func() error { _ = unix.Close(p[0]); return unix.Close(p[1]) }, err
		}, []Held{{Kind: fact.ADescriptor, Of: "pipe", Count: 2}}},
		{func() (func() error, error) {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			return func() error { _ = unix.Close(p[0]); return unix.Close(p[1]) }, err
		}, []Held{{Kind: fact.AConnection, Of: "outgoing", Count: 2}}},
		{func() (func() error, error) { l, err := net.Listen("tcp4", "127.0.0.1:0"); return l.Close, err },
			[]Held{{Kind: fact.ADescriptor, Of: "socket TCP", Count: 1}}},
		{func() (func() error, error) {
			wd, err := unix.InotifyAddWatch(inotify, folder, unix.IN_CREATE)
			return func() error { _, err := unix.InotifyRmWatch(inotify, uint32(wd)); return err }, err
		}, []Held{{Kind: fact.AWatch, Of: "inotify", Count: 1}}},
	} {
		before := ownHandles(t)
		closeIt := must.Get(tc.open())(t)
		after := ownHandles(t)
		var more []Held
		for _, h := range after.Held {
			for _, b := range before.Held {
				if b.Kind == h.Kind && b.Of == h.Of {
					h.Count -= b.Count
				}
			}
			if h.Count > 0 {
				more = append(more, Held{Kind: h.Kind, Of: h.Of, Count: h.Count})
			}
		}
		must.Equal(t, more, tc.want, "more")
		must.Succeed(t, closeIt())
	}
}

func ownHandles(t *testing.T) Handles {
	t.Helper()
	f := must.Get(os.Open("/proc/self/net/unix"))(t)
	defer f.Close() //nolint:errcheck // read-only
	listed := must.Get(scan.ParseNetUnix(f))(t)
	sockets := map[uint64]scan.UnixSocket{}
	for _, s := range listed {
		sockets[s.Inode] = s
	}
	held := must.Get(readDescriptors("/proc/self", "", sockets))(t)
	return Handles{Held: held}
}
