package settle

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary also plays other roles, selected by this variable. It is the "init" of
// a small world, a "listener" on the unix socket in LISTEN, or a "zombie", which never
// reaps its child.
const roleVar = "SHIMQUAKE_ORACLE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		os.Exit(m.Run())
	case "init":
		fatalIf(initMain())
	case "listener":
		fatalIf(listenerMain())
	case "zombie":
		fatalIf(zombieMain())
	}
}

func fatalIf(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// order tells the world's init to run a program. With Wait, the init also returns the
// program's exit status.
type order struct {
	Argv, Env []string
	Dir       string
	Wait      bool
	Stdout    string // a file
}

type reply struct {
	PID, Status int
	Error       string
}

// initMain is process 1 of the world: it makes the mounts private and then runs orders
// until its stdin ends.
func initMain() error {
	for _, m := range []struct {
		source, target, fstype string
		flags                  uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{"proc", "/proc", "proc", 0},
		{"run", "/run", "tmpfs", 0},
	} {
		if err := unix.Mount(m.source, m.target, m.fstype, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	reaped := make(chan os.Signal, 1)
	signal.Notify(reaped, unix.SIGCHLD)
	orders := make(chan order)
	go func() {
		defer close(orders)
		in := json.NewDecoder(bufio.NewReader(os.Stdin))
		for {
			var o order
			if in.Decode(&o) != nil {
				return
			}
			orders <- o
		}
	}()
	out := json.NewEncoder(os.Stdout)
	fatalIf(out.Encode(reply{PID: os.Getpid()}))
	awaited := 0
	for {
		select {
		case o, ok := <-orders:
			if !ok {
				return nil
			}
			pid, err := start(o)
			r := reply{PID: pid}
			if err != nil {
				r.Error = err.Error()
			}
			if err == nil && o.Wait {
				awaited = pid
				break
			}
			fatalIf(out.Encode(r))
		case <-reaped:
		}
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
			if pid <= 0 || errors.Is(err, unix.ECHILD) {
				break
			}
			if pid == awaited {
				awaited = 0
				fatalIf(out.Encode(reply{PID: pid, Status: status.ExitStatus()}))
			}
		}
	}
}

func start(o order) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close() //nolint:errcheck // /dev/null
	log := os.Stderr
	if o.Stdout != "" {
		if log, err = os.OpenFile(o.Stdout, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return 0, err
		}
		defer log.Close() //nolint:errcheck // the child has its own
	}
	name, err := exec.LookPath(o.Argv[0])
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(name, o.Argv, &syscall.ProcAttr{
		Dir: o.Dir, Env: append(o.Env, os.Environ()...), // Go uses the first of two
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

// listenerMain listens on the address in LISTEN, "@name" for an abstract one, until it is
// killed.
func listenerMain() error {
	address := os.Getenv("LISTEN")
	if err := os.MkdirAll(filepath.Dir(address), 0o700); err != nil && address[0] != '@' {
		return err
	}
	l, err := net.Listen("unix", address)
	if err != nil {
		return err
	}
	for {
		if _, err := l.Accept(); err != nil {
			return err
		}
	}
}

// zombieMain starts a child that ends at once, and never reaps it.
func zombieMain() error {
	if _, err := syscall.ForkExec("/bin/true", []string{"true"}, nil); err != nil {
		return err
	}
	r, _, err := os.Pipe()
	if err != nil {
		return err
	}
	_, err = io.ReadAll(r) // blocks forever: the other end stays open
	return err
}
