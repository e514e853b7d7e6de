// Package process runs the processes of a fake shim's tasks. They are real processes that
// can be signalled, leak and be found, but have no container. Each is process 1 of its
// own PID namespace, so its children end with it.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/fixtures/payload/mode"
)

// Name is argument 0 of the processes; a program that starts with it must call Main.
const Name = "fakeshim-task"

// gate is the file descriptor on which a process waits before it does anything.
const gate = 3

// held is the first argument of the child that a process leaves behind to hold its
// stdout.
const held = "-held"

// Main runs a process and never returns if this program was started as one. Otherwise it
// returns at once.
//
// A process waits at the gate for one byte. If the shim dies first, the byte never comes,
// and the process stays, as the init of a created runc container does.
func Main() {
	var words []string
	switch {
	case os.Args[0] == Name:
		words = os.Args[1:]
		f := os.NewFile(gate, "gate")
		if n, _ := f.Read(make([]byte, 1)); n == 0 {
			forever()
		}
		_ = f.Close()
	case len(os.Args) > 1 && os.Args[1] == held:
		words = os.Args[2:]
	default:
		return
	}
	m, err := mode.Parse(words)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", Name, err)
		os.Exit(125)
	}
	mode.Run(m, []string{"/proc/self/exe", held})
}

// forever waits for a signal that ends the process. A bare select would be reported as a
// deadlock.
func forever() {
	for range time.Tick(time.Hour) {
	}
}

// Status is the state of a process.
type Status string

// The states.
const (
	Created Status = "created"
	Running Status = "running"
	Paused  Status = "paused"
	Stopped Status = "stopped"
)

// Params is the work of a process, with its standard streams.
type Params struct {
	Mode   mode.Mode
	Truth  string // Truth is the file that mode.Run writes; "" for none.
	Stdin  string // Stdin, Stdout and Stderr are FIFOs or files; "" is /dev/null.
	Stdout string
	Stderr string
}

// Exit is how a process ended.
type Exit struct {
	PID    int       `json:"pid"`
	Status uint32    `json:"status"` // 128+signal after a signal, as in containerd
	At     time.Time `json:"at"`
}

// Process is one process.
type Process struct {
	cmd  *exec.Cmd
	gate *os.File
	id   signal.Identity

	mu     sync.Mutex
	status Status
	exit   Exit
	ended  chan struct{} // closed when the process has been reaped
}

// Create starts a process that waits at its gate. Errors of standard streams of an
// unknown kind match errdefs.ErrInvalidArgument.
func Create(p Params) (_ *Process, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	files := []*os.File{read}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
		if err != nil {
			_ = write.Close()
		}
	}()
	cmd := &exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       append([]string{Name}, p.Mode.Args()...),
		Dir:        "/",
		Env:        []string{"GOMAXPROCS=1"},
		ExtraFiles: []*os.File{read},
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: syscall.CLONE_NEWPID,
		},
	}
	if p.Truth != "" {
		cmd.Env = append(cmd.Env, mode.TruthEnv+"="+p.Truth)
	}
	for i, path := range []string{p.Stdin, p.Stdout, p.Stderr} {
		f, err := open(path, i == 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[1], files[2], files[3]
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process (a PID namespace of its own needs root): %w", err)
	}
	id, err := signal.Identify(cmd.Process.Pid)
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return &Process{cmd: cmd, gate: write, id: id, status: Created, ended: make(chan struct{})}, nil
}

// Watch waits for the end of the process in the background, and calls done once with its
// exit before Ended is closed. It must be called once.
func (p *Process) Watch(done func(Exit)) {
	go func() {
		err := p.cmd.Wait()
		exit := Exit{PID: p.PID(), At: time.Now(), Status: 255} // 255 means "unknown" in containerd
		var exitError *exec.ExitError
		if err == nil || errors.As(err, &exitError) {
			exit.Status = uint32(p.cmd.ProcessState.ExitCode())
			if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				exit.Status = 128 + uint32(ws.Signal())
			}
		}
		_ = p.gate.Close()
		p.mu.Lock()
		p.status, p.exit = Stopped, exit
		p.mu.Unlock()
		done(exit)
		close(p.ended)
	}()
}

// PID returns the process id that the shim sees.
func (p *Process) PID() int { return p.id.PID }

// Identity identifies the process also after its pid has been reused.
func (p *Process) Identity() signal.Identity { return p.id }

// State returns the state of the process and, if it is Stopped, its exit.
func (p *Process) State() (Status, Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.exit
}

// Ended is closed after the function of Watch has returned.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait returns the exit, or the error of the context.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.ended:
		_, exit := p.State()
		return exit, nil
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// Start lets a created process pass its gate. It calls announce just before, when the
// process cannot have ended by itself yet, and only if it will start.
func (p *Process) Start(announce func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status != Created {
		return fmt.Errorf("cannot start a process that is %s: %w", p.status, errdefs.ErrFailedPrecondition)
	}
	announce()
	if _, err := p.gate.Write([]byte{1}); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	p.status = Running
	return nil
}

// Kill sends a signal. It returns an error that matches errdefs.ErrNotFound if the
// process has ended.
func (p *Process) Kill(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status == Stopped {
		return fmt.Errorf("process already finished: %w", errdefs.ErrNotFound)
	}
	err := p.cmd.Process.Signal(s)
	if errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process already finished: %w", errdefs.ErrNotFound)
	}
	return err
}

// Remove waits for the end of a process. It kills a process that is only Created. The
// error for a running process matches errdefs.ErrFailedPrecondition.
func (p *Process) Remove(ctx context.Context) (Exit, error) {
	switch status, _ := p.State(); status {
	case Created:
		if err := p.Kill(syscall.SIGKILL); err != nil && !errors.Is(err, errdefs.ErrNotFound) {
			return Exit{}, err
		}
	case Running, Paused:
		return Exit{}, fmt.Errorf("cannot delete a process that is %s: %w", status, errdefs.ErrFailedPrecondition)
	}
	return p.Wait(ctx)
}

// Freeze stops a running process with SIGSTOP.
func (p *Process) Freeze() error { return p.change(Running, Paused, syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (p *Process) Thaw() error { return p.change(Paused, Running, syscall.SIGCONT) }

func (p *Process) change(from, to Status, s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status != from {
		return fmt.Errorf("the process is %s, not %s: %w", p.status, from, errdefs.ErrFailedPrecondition)
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		return err
	}
	p.status = to
	return nil
}
