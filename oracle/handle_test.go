package oracle

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/scan"
)

func TestDescriptor(t *testing.T) {
	sockets := map[uint64]scan.UnixSocket{
		1: {Path: "/run/containerd/containerd.sock", Inode: 1, Listening: true},
		2: {Path: "/run/containerd/containerd.sock.ttrpc", Inode: 2},
		3: {Inode: 3},
	}
	for target, want := range map[string]Held{
		"/dev/null":                 {Kind: ADescriptor, Of: "/dev/null"},
		"/run/x/w4b4/root/meta.db":  {Kind: ADescriptor, Of: "/run/x/*/root/meta.db"},
		"/r/io.containerd.v1.x/a.b": {Kind: ADescriptor, Of: "/r/io.containerd.v1.x/a.b"},
		"/a/supported (deleted)":    {Kind: ADescriptor, Of: "/a/supported (deleted)"},
		"pipe:[4711]":               {Kind: ADescriptor, Of: "pipe"},
		"net:[4026531840]":          {Kind: ADescriptor, Of: "net"},
		"anon_inode:[eventpoll]":    {Kind: ADescriptor, Of: "eventpoll"},
		"anon_inode:inotify":        {Kind: ADescriptor, Of: "inotify"},
		"socket:[1]":                {Kind: ADescriptor, Of: "/run/containerd/containerd.sock"},
		"socket:[2]":                {Kind: AConnection, Of: "/run/containerd/containerd.sock.ttrpc"},
		"socket:[3]":                {Kind: AConnection, Of: "outgoing"},
		"socket:[4]":                {Kind: ADescriptor, Of: "socket NETLINK"},
		"":                          {Kind: ADescriptor},
	} {
		if got := descriptor(link{target: target, protocol: "NETLINK"}, sockets); got != want {
			t.Errorf("%q: %+v, want %+v", target, got, want)
		}
	}
}

func TestParseWatches(t *testing.T) {
	const text = "pos:\t0\nflags:\t00\nmnt_id:\t15\nino:\t62\n" +
		"inotify wd:2 ino:7ef82a sdev:800001 mask:800afff ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:2af87e\n" +
		"inotify wd:1 ino:192627 sdev:800001 mask:800afff ignored_mask:0\n"
	if n, err := parseWatches(strings.NewReader(text)); n != 2 || err != nil {
		t.Errorf("%d watches, %v", n, err)
	}
}

func FuzzParseWatches(f *testing.F) {
	f.Add("pos:\t0\ninotify wd:1 ino:1\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseWatches(strings.NewReader(text))
		if lines := strings.Count(text, "\n") + 1; err == nil && n > lines {
			t.Errorf("%d watches in %d lines", n, lines)
		}
	})
}

// Each kind of descriptor is opened once by this process, and is one more then.
func TestOwnDescriptors(t *testing.T) {
	folder := t.TempDir()
	inotify, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(inotify) })
	for _, tc := range []struct {
		open func() (func() error, error)
		want []Held
	}{
		{func() (func() error, error) { f, err := os.Open("/dev/zero"); return f.Close, err },
			[]Held{{Kind: ADescriptor, Of: "/dev/zero", Count: 1}}},
		{func() (func() error, error) {
			var p [2]int
			err := unix.Pipe2(p[:], unix.O_CLOEXEC)
			return func() error { _ = unix.Close(p[0]); return unix.Close(p[1]) }, err
		}, []Held{{Kind: ADescriptor, Of: "pipe", Count: 2}}},
		{func() (func() error, error) {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			return func() error { _ = unix.Close(p[0]); return unix.Close(p[1]) }, err
		}, []Held{{Kind: AConnection, Of: "outgoing", Count: 2}}},
		{func() (func() error, error) { l, err := net.Listen("tcp4", "127.0.0.1:0"); return l.Close, err },
			[]Held{{Kind: ADescriptor, Of: "socket TCP", Count: 1}}},
		{func() (func() error, error) {
			wd, err := unix.InotifyAddWatch(inotify, folder, unix.IN_CREATE)
			return func() error { _, err := unix.InotifyRmWatch(inotify, uint32(wd)); return err }, err
		}, []Held{{Kind: AWatch, Of: "inotify", Count: 1}}},
	} {
		before := ownHandles(t)
		closeIt, err := tc.open()
		if err != nil {
			t.Fatal(err)
		}
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
		if !slices.Equal(more, tc.want) {
			t.Errorf("%+v more, want %+v", more, tc.want)
		}
		if err := closeIt(); err != nil {
			t.Error(err)
		}
	}
}

func ownHandles(t *testing.T) Handles {
	t.Helper()
	f, err := os.Open("/proc/self/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read-only
	listed, err := scan.ParseNetUnix(f)
	if err != nil {
		t.Fatal(err)
	}
	sockets := map[uint64]scan.UnixSocket{}
	for _, s := range listed {
		sockets[s.Inode] = s
	}
	held, err := readDescriptors("/proc/self", "", sockets)
	if err != nil {
		t.Fatal(err)
	}
	return Handles{Held: held}
}

// A shim that lives before and after may not hold more; here one does not give back a
// connection.
func TestALivingShimLeaksAConnection(t *testing.T) {
	w := newWorld(t)
	const socket = "/run/containerd/s/ab12"
	shim := w.role("listener", []string{"LISTEN=" + socket}, "-namespace", "default", "-id", "c1")
	w.until("it listens", func(inv Inventory) bool { return len(inv.Sockets) == 1 && inv.Sockets[0].Listening })
	w.scene.Daemon = w.start(order{Argv: []string{"sleep", "1000"}})
	w.until("it sleeps, and opens no files any more", func(inv Inventory) bool {
		return slices.ContainsFunc(inv.Processes, func(p Process) bool {
			return p.PID == w.scene.Daemon && p.State == "S" && len(p.Argv) > 0 && p.Argv[0] == "sleep"
		})
	})
	before := w.take()
	if found := Leaks(before, w.take()); len(found) != 0 {
		t.Fatalf("found before there was anything: %v", found)
	}
	c, err := net.Dial("unix", w.path(socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w.until("it is accepted", func(inv Inventory) bool { return len(Leaks(before, inv)) > 0 })
	found := Leaks(before, w.take())
	if len(found) != 1 || found[0].Class != ClassHandle || found[0].Subject.PID != shim ||
		!saysAll(found[0], []string{"default/c1", "1 more than the 0"}) {
		t.Errorf("found %v", found)
	}
}
