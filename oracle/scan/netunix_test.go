package scan

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

const netUnix = `Num       RefCount Protocol Flags    Type St Inode Path
ffff8f1a: 00000002 00000000 00010000 0001 01 4711 /run/containerd/s/ab12
ffff8f1b: 00000003 00000000 00000000 0001 03 4712 /run/containerd/s/ab12
ffff8f1c: 00000002 00000000 00010000 0001 01 4713 @/containerd-shim/cd34.sock@
ffff8f1d: 00000002 00000000 00000000 0002 01 4714 @0001b
ffff8f1e: 00000003 00000000 00000000 0001 03 4715
ffff8f1f: 00000002 00000000 00010000 0001 01 4716 /tmp/with a space
ffff8f20: 00000002 00000000 0001zz00 0001 01 4717 /tmp/bad flags
rest of a name with a newline
`

func TestParseNetUnix(t *testing.T) {
	got := must.Get(ParseNetUnix(strings.NewReader(netUnix)))(t)
	want := []UnixSocket{
		{"/run/containerd/s/ab12", 4711, true},
		{"/run/containerd/s/ab12", 4712, false},
		{"@/containerd-shim/cd34.sock@", 4713, true},
		{"@0001b", 4714, false},
		{"", 4715, false},
		{"/tmp/with a space", 4716, true},
	}
	must.Equal(t, got, want)
}

// A user can forge a line with the inode of another socket.
func TestByInode(t *testing.T) {
	sockets := []UnixSocket{{Inode: 1}, {Inode: 2}}
	for range 300 {
		sockets = append(sockets, UnixSocket{Path: "/forged", Inode: 1})
	}
	must.Equal(t, ByInode(sockets), map[uint64]UnixSocket{1: {Path: "/forged", Inode: 1}, 2: {Inode: 2}})
}

func FuzzParseNetUnix(f *testing.F) {
	f.Add(netUnix)
	f.Fuzz(func(t *testing.T, text string) {
		found, err := ParseNetUnix(strings.NewReader(text))
		if err == nil && len(found) > strings.Count(text, "\n")+1 {
			t.Errorf("%d sockets in %q", len(found), text)
		}
	})
}

func TestSocketInode(t *testing.T) {
	for target, want := range map[string]uint64{"socket:[4711]": 4711, "pipe:[4711]": 0, "/dev/null": 0,
		"socket:[x]": 0} {
		if got, ok := SocketInode(target); got != want || ok != (want != 0) {
			t.Errorf("SocketInode(%q) = %d, %v; want %d", target, got, ok, want)
		}
	}
}
