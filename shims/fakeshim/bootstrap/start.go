package bootstrap

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/proof"
	"github.com/shimquake/shimquake/shims/fakeshim/spec"
)

const (
	// defaultSocketDir is the folder of shim sockets in containerd 2.x and earlier
	// (defaults.DefaultStateDir and "s").
	defaultSocketDir = "/run/containerd/s"
	// stdinLimit bounds the input from containerd, in bytes.
	stdinLimit = 10 << 20
	// addressFile is the file in the bundle with the shim's address; containerd 1.6 and
	// 1.7 read it when they load the shim.
	addressFile = "address"
	// ListenFD is the file descriptor of the daemon's listening socket.
	ListenFD = 3
)

// Params are the flags of a shim.
type Params struct {
	Namespace string
	ID        string
	Address   string // Address is containerd's gRPC address; it is part of the shim's socket name.
	Stdin     io.Reader
	Stdout    io.Writer
}

// ErrAsked is the error of a shim that was told to fail; see package behaviour.
var ErrAsked = errors.New("failed, as asked")

// Start is the `start` command, run in the bundle. It forks the shim, unless the bundle's
// group has one, and responds with its address.
func Start(p Params) error {
	s, err := spec.Read(".")
	if err != nil {
		return err
	}
	b, err := s.Behaviour()
	if err != nil {
		return err
	}
	if b.Start.Name == behaviour.Refuse {
		return errors.Join(fmt.Errorf("start: refused: %w", ErrAsked), proof.Note("start", "refused before it did anything"))
	}
	stdin, err := io.ReadAll(io.LimitReader(p.Stdin, stdinLimit))
	if err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	generation, reported := detect(stdin, p.ID, p.Namespace)
	path := socketPath(cmp.Or(reported.GetSocketDir(), defaultSocketDir), p.Address, p.Namespace, s.Group(p.ID))
	address := "unix://" + path
	listener, err := listen(path)
	if err != nil {
		return err
	}
	if generation != Proto {
		if err := os.WriteFile(addressFile, []byte(address), 0o600); err != nil {
			return err
		}
	}
	if listener != nil {
		if err := fork(p, listener, path, s.Words()); err != nil {
			return errors.Join(err, os.Remove(path))
		}
	}
	if err := act(b.Start, "start"); err != nil {
		return err
	}
	out, err := encode(generation, address, b.Bootstrap)
	if err != nil {
		return err
	}
	if b.Bootstrap != "" {
		if err := proof.Note("bootstrap", "answered %q to a containerd that expects %s", out, generation); err != nil {
			return err
		}
	}
	_, err = p.Stdout.Write(out)
	return err
}

// act runs the act of the key what, start= or cleanup=.
func act(a behaviour.Act, what string) error {
	if a.Name != "" {
		if err := proof.Note(what, "%s, after everything else was done", a); err != nil {
			return err
		}
	}
	switch a.Name {
	case behaviour.Hang:
		for range time.Tick(time.Hour) { // a bare select would be reported as a deadlock
		}
	case behaviour.Late:
		<-time.After(a.For)
	case behaviour.Fail:
		return fmt.Errorf("%s: %w", what, ErrAsked)
	}
	return nil
}

// socketPath returns the path that containerd's runc shim would use (CreateSocketAddress
// of pkg/shim).
func socketPath(dir, containerd, namespace, group string) string {
	return fmt.Sprintf("%s/%x", dir, sha256.Sum256([]byte(filepath.Join(containerd, namespace, group))))
}

// listen creates the socket. It returns nil without an error if a shim already listens
// there, and replaces a dead one.
func listen(path string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("folder of the shim's socket: %w", err)
	}
	addr := &net.UnixAddr{Name: path, Net: "unix"}
	l, err := net.ListenUnix("unix", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		conn, dialErr := net.DialUnix("unix", nil, addr)
		if dialErr == nil {
			return nil, conn.Close()
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the socket of a dead shim: %w", err)
		}
		l, err = net.ListenUnix("unix", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l.SetUnlinkOnClose(false) // the daemon owns the file
	return l, os.Chmod(path, 0o600)
}

// fork starts the daemon in the bundle, with the listening socket as file descriptor
// ListenFD. The daemon gets the words of its behaviour as an argument, because containerd
// may remove the bundle of a failed start at once.
func fork(p Params, l *net.UnixListener, path, words string) error {
	f, err := l.File()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command( //nolint:forbidigo // it outlives this process
		self,
		"-namespace",
		p.Namespace,
		"-id",
		p.ID,
		"-address",
		p.Address,
		"-socket",
		path,
		"-behaviour",
		words,
	)
	cmd.ExtraFiles = []*os.File{f}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("fork the shim: %w", err)
	}
	return errors.Join(f.Close(), l.Close(), cmd.Process.Release())
}
