package audit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// connect opens containerd's socket. It checks that containerd's own process listens on
// the socket. It resolves the path inside the view's root, because a symbolic link could
// lead out of that root.
func (a *asker) connect(d *Daemon) (*grpc.ClientConn, error) {
	address := strings.TrimPrefix(d.Address, "unix://")
	// Read again, because containerd may have begun to listen since the first read.
	own := inventory.HeldSockets(a.table.dir(d.PID))
	if !slices.ContainsFunc(a.listening, func(s scan.UnixSocket) bool {
		return path.Base(s.Path) == path.Base(address) && slices.Contains(own, s.Inode)
	}) {
		return nil, fmt.Errorf("process %d does not listen on %s: containerd is starting, or its configuration was changed"+
			" after its start", d.PID, d.Address)
	}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		f, err := a.whole.Open(address, unix.O_PATH)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // O_PATH
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			return nil, err
		}
		if err := a.peer(conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}
	return grpc.NewClient("passthrough:///containerd",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithMaxHeaderListSize(64<<10),
		grpc.WithChainUnaryInterceptor(scan.BoundReply, a.call),
		grpc.WithChainStreamInterceptor(scan.BoundStream, a.stream))
}

// maxAnswer limits the size of a response, in bytes: containerd's own limit.
const maxAnswer = 16 << 20

// peer returns an error if the listener of a socket is not the user of containerd.
func (a *asker) peer(conn net.Conn) error {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("the connection is not to a Unix socket")
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(cerr, err); err != nil {
		return err
	}
	if int(peer.Uid) != a.owner.UID {
		return fmt.Errorf("uid %d listens on the socket, and not uid %d, which runs containerd", peer.Uid, a.owner.UID)
	}
	return nil
}

func (a *asker) close() {
	for _, c := range a.conns {
		if c != nil {
			_ = c.Close() // an error cannot lose data
		}
	}
}
