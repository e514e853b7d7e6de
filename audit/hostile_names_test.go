package audit_test

import (
	"net"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/fixtures/world/wire"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/scan"
)

// A user can mount a file system (fusermount) where the path looks like a container's.
func TestAMountOfAUser(t *testing.T) {
	n := hostileNode(t)
	target := userDir + "/io.containerd.runtime.v2.task/prod/7/rootfs"
	n.must(os.MkdirAll(n.world.HostPath(target), 0o755))
	n.must(n.world.Mount(n.ctx, wire.Mount{Source: "user", Target: target, Type: "tmpfs", Flags: unix.MS_NOSUID}))
	n.findsTheLeak(t)
}

// A user can forge a line of /proc/net/unix by the name of a socket. The silent socket of
// a dead shim is not hidden by it.
func TestASocketOfAUser(t *testing.T) {
	n := hostileNode(t)
	const dead = "/run/containerd/s/dead"
	n.must(os.MkdirAll(n.world.HostPath(path.Dir(dead)), 0o711))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: n.world.HostPath(dead)})
	n.must(err)
	listener.SetUnlinkOnClose(false)
	n.must(listener.Close())
	for name, inode := range map[string]string{"an inode that nothing has": "4711", "the inode of containerd": ""} {
		t.Run(name, func(t *testing.T) {
			if inode == "" {
				inode = n.listeningInode(t)
			}
			n.asUser(t, "bind", path.Join(userDir, "containerd"),
				"x\n0: 2 0 00010000 0001 01 "+inode+" "+dead, path.Join(userDir, "bound-"+inode))
			n.waitFor(t, path.Join(userDir, "bound-"+inode))
			r := n.reports(t, audit.Options{})
			found := false
			for _, s := range r.Suspects {
				found = found || s.Kind == finding.ClassSocket && s.Path == dead
			}
			if !found && len(r.Partial) == 0 {
				t.Errorf("the silent socket is hidden, and no note says so:\n%v", r)
			}
		})
	}
}

// listeningInode is the inode of containerd's socket.
func (n *node) listeningInode(t *testing.T) string {
	t.Helper()
	sockets, err := scan.Listeners("/proc", n.world.InitPID())
	n.must(err)
	for _, s := range sockets {
		if s.Path == n.Address() {
			return strconv.FormatUint(s.Inode, 10)
		}
	}
	t.Fatalf("nothing listens on %s", n.Address())
	return ""
}

// A user has cgroups of its own (systemd's delegation), and names them as it likes.
func TestACgroupOfAUser(t *testing.T) {
	n := hostileNode(t)
	for _, dir := range n.world.CgroupDirs() {
		delegated := filepath.Join(dir, "user.slice")
		group := filepath.Join(delegated, "cri-containerd-7.scope")
		n.must(os.MkdirAll(group, 0o755))
		n.must(os.Chown(delegated, nobody, nobody))
		n.must(os.Chown(group, nobody, nobody))
	}
	n.findsTheLeak(t)
}
