package harness

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/spelling"
)

// OOM says which process of a container the kernel OOM-kills.
type OOM string

// The processes.
const (
	OOMInit  OOM = "init"  // the container ends, with status 137 (SIGKILL)
	OOMChild OOM = "child" // the container keeps running, and exits later with its own status
)

// Segfault says whether a payload that dies of SIGSEGV leaves a core.
type Segfault string

// The values of Segfault.
const (
	// SegfaultCore leaves a core file beside the payload's record. There is no file if the
	// machine does not write cores to files (core_pattern) or forbids them (RLIMIT_CORE).
	SegfaultCore Segfault = "core"
	SegfaultBare Segfault = "bare" // no core
)

// Container describes a container of the workload. Its payload is a program of the
// harness that exits with a known status, and records what it does.
type Container struct {
	// Exit is the exit status of the payload.
	Exit int `yaml:"exit,omitempty"`
	// Signal is the signal with which the client ends the payload, in place of `exit`:
	// SIGKILL (137), SIGTERM (143) or SIGUSR1 (138). SIGUSR1 needs CRI, because it is the
	// stop signal of the payload's image.
	Signal string `yaml:"signal,omitempty"`
	// Segfault makes the payload die of SIGSEGV (139), with a core dump (`core`) or
	// without one (`bare`). It takes the place of `exit`.
	Segfault Segfault `yaml:"segfault,omitempty"`
	// NoSuchCommand gives the container a command that does not exist, so runc refuses
	// it. It excludes all other keys, because the payload never runs.
	NoSuchCommand bool `yaml:"noSuchCommand,omitempty"`
	// HoldStdout makes the payload leave a child that keeps its stdout open.
	HoldStdout bool `yaml:"holdStdout,omitempty"`
	// Floods makes the payload write to its stdout without end. CRI only: a client of the
	// task API reads output only with `lines`.
	Floods bool `yaml:"floods,omitempty"`
	// IgnoresTerm makes the payload ignore SIGTERM. After StopGrace CRI's StopContainer
	// kills it. With the task API the client kills it, as `docker stop` does. It needs
	// `signal: SIGTERM`.
	IgnoresTerm bool `yaml:"ignoresTerm,omitempty"`
	// Children is the number of child processes that still run when the payload exits.
	// Only SIGKILL or the end of their PID namespace ends them.
	Children int `yaml:"children,omitempty"`
	// SharedPID runs the payload in the PID namespace of the node, or with CRI of its
	// pod. Children outlive the container's init there, so the shim must kill them.
	SharedPID bool `yaml:"sharedPID,omitempty"`
	// Stays makes the payload run until a step, a fault or the stop of its pod ends it.
	// It needs a script.
	Stays bool `yaml:"stays,omitempty"`
	// TTY gives the container a terminal, of which its shim holds the other end. With the
	// task API its execs have one, too. The client reads the terminals, and resizes them.
	// With CRI the bystander has a terminal if the first container has one.
	TTY bool `yaml:"tty,omitempty"`
	// Lines is the number of numbered lines that the payload writes to both stdout and
	// stderr, all at once, before it exits. Each exec of the container writes as many. The
	// client reads them from FIFOs. With CRI it reads the container's log and the response
	// of ExecSync. Up to 20000.
	Lines int `yaml:"lines,omitempty"`
	// Log makes the shim write `lines` to a file (`file`) or to a logger program (`binary`),
	// in place of FIFOs. The container and each exec have a file or logger of their own.
	// Task API only. With `file`, lines is at most 150 (LogFileLines), so that lines of
	// stdout and stderr do not mix.
	Log LogTarget `yaml:"log,omitempty"`
	// Unread makes the client read none of the `lines` before it deletes the task, as if the
	// client had died. The shim waits 10s (IODrain) for a reader, and then deletes the
	// container. Task API only, with at most 5000 lines (UnreadLines) and a callTimeout of
	// at least 20s.
	Unread bool `yaml:"unread,omitempty"`
	// Stdin is the number of numbered lines that the client writes to the stdin of the
	// payload and of each exec. These processes copy their input to their output, and exit
	// at the end of the input. The client writes it in two parts, as two clients that attach
	// one after the other. Then it closes the input with CloseIO. With CRI the steps of a
	// script write it. Up to 20000.
	Stdin int `yaml:"stdin,omitempty"`
	// Memory is the container's memory limit, 16 to 256 MiB without swap. Default: no
	// limit. Not with fakeshim.
	Memory int `yaml:"memory,omitempty"`
	// Execs lists the execs that a script can run, up to 4: c0/e0, c0/e1, ...
	Execs []ExecSpec `yaml:"execs,omitempty"`
	// OOM is the process that exceeds `memory`, so that the kernel kills it: init or
	// child.
	OOM OOM `yaml:"oom,omitempty"`
}

// AbsentCommand is a program that does not exist.
const AbsentCommand = "/shimquake-absent-command"

// StopGrace is the time between SIGTERM and SIGKILL for a payload that ignores SIGTERM.
const StopGrace = time.Second

// Want returns the payload's exit status if no fault kills it.
func (c Container) Want() uint32 {
	switch {
	case c.Signal == "SIGKILL" || c.IgnoresTerm || c.OOM == OOMInit:
		return 128 + uint32(unix.SIGKILL)
	case c.Signal != "":
		return 128 + uint32(Signals[c.Signal])
	case c.Segfault != "":
		return 128 + uint32(unix.SIGSEGV)
	}
	return uint32(c.Exit)
}

// Signals are the possible values of Container.Signal.
var Signals = map[string]unix.Signal{
	"SIGKILL": unix.SIGKILL, "SIGTERM": unix.SIGTERM, payload.StopSignal: unix.SIGUSR1,
}

// execSignals are the possible values of ExecSpec.Signal.
var execSignals = []string{"SIGTERM", payload.StopSignal}

// maxChildren is the largest number of Children. It is below the limit on processes of a
// case's cgroup.
const maxChildren = 100

// problems returns the errors of the i-th container of w.
func (c Container) problems(i int, w Workload) []error {
	all := []error{c.check(i), c.checkSupport(w)}
	alone := reflect.DeepEqual(c, Container{NoSuchCommand: true})
	if c.NoSuchCommand && (!alone || w.Fakeshim != "") {
		all = append(all, errors.New("noSuchCommand: the payload never runs: remove all other keys, and fakeshim"))
	}
	if c.Floods && w.API != CRI {
		all = append(all, errors.New("floods: only CRI reads endless output, into the log of a pod: add api: cri"))
	}
	if c.Memory > 0 && w.Fakeshim != "" {
		all = append(all, errors.New("memory: only runc's shim limits memory: remove fakeshim"))
	}
	if c.Stays && !w.Scripted() {
		all = append(all, errors.New("stays: only the steps of a script can end such a container: add script"))
	}
	if c.Signal == payload.StopSignal && w.API != CRI {
		all = append(all, errors.New("signal: SIGUSR1 is the stop signal of the image, which only CRI sends: add api: cri"))
	}
	if c.TTY && w.API == CRI && c.Stdin > 0 {
		all = append(all, errors.New("tty: with CRI a container has a terminal or stdin, not both: remove one, or api: cri"))
	}
	all = append(all, c.checkUnread(w))
	if c.TTY && w.API != CRI && (c.HoldStdout || c.Stdin > 0 || w.Fakeshim != "") {
		all = append(all, errors.New("tty: not possible with holdStdout, stdin or fakeshim by the task API: remove them"))
	}
	return all
}

func (c Container) check(i int) error {
	if c.Exit < 0 || c.Exit > 255 {
		return fmt.Errorf("containers[%d]: exit %d is not between 0 and 255", i, c.Exit)
	}
	if _, ok := Signals[c.Signal]; c.Signal != "" && !ok {
		return fmt.Errorf("containers[%d]: signal %q: use SIGKILL, SIGTERM, or with CRI SIGUSR1", i, c.Signal)
	}
	if c.Signal != "" && c.Exit != 0 {
		return fmt.Errorf("containers[%d]: a container ends with exit or by signal, not both: remove one", i)
	}
	if c.IgnoresTerm && c.Signal != "SIGTERM" {
		return fmt.Errorf("containers[%d]: ignoresTerm: the client sends no SIGTERM: add signal: SIGTERM", i)
	}
	if c.Floods && (c.Signal != "" || c.HoldStdout) {
		return fmt.Errorf("containers[%d]: floods: such a container must exit by itself: remove signal and holdStdout", i)
	}
	if c.Lines < 0 || c.Lines > payload.MaxLines || c.Lines > 0 && (c.HoldStdout || c.Floods) {
		return fmt.Errorf("containers[%d]: lines: %d: use 1 to %d, and neither holdStdout nor floods", i, c.Lines,
			payload.MaxLines)
	}
	if c.Stdin < 0 || c.Stdin > payload.MaxLines ||
		c.Stdin > 0 && (c.Signal != "" || c.Lines > 0 || c.Floods || c.HoldStdout || c.OOM == OOMInit) {
		return fmt.Errorf("containers[%d]: stdin: %d: use 1 to %d, and none of signal, lines, floods, holdStdout, oom: init",
			i, c.Stdin, payload.MaxLines)
	}
	if c.Children < 0 || c.Children > maxChildren || c.Children > 0 && c.HoldStdout {
		return fmt.Errorf("containers[%d]: children: %d: use 1 to %d, and not holdStdout", i, c.Children, maxChildren)
	}
	return errors.Join(c.checkSegfault(i), c.checkMemory(i), c.checkLog(i))
}

func (c Container) checkSegfault(i int) error {
	known := []string{string(SegfaultCore), string(SegfaultBare)}
	switch {
	case c.Segfault == "":
		return nil
	case !slices.Contains(known, string(c.Segfault)):
		return spelling.Unknown("segfault", string(c.Segfault), known)
	case c.Exit != 0 || c.Signal != "" || c.Floods || c.HoldStdout || c.Stdin > 0 || c.OOM == OOMInit:
		return fmt.Errorf("containers[%d]: segfault: it ends the container: remove exit, signal, floods, "+
			"holdStdout, stdin, oom: init", i)
	}
	return nil
}

// The limits of Memory in MiB. runc itself needs some MiB of it, and all containers of a
// case share 2 GiB.
const minMemory, maxMemory = 16, 256

func (c Container) checkMemory(i int) error {
	known := []string{string(OOMInit), string(OOMChild)}
	switch {
	case c.Memory != 0 && (c.Memory < minMemory || c.Memory > maxMemory):
		return fmt.Errorf("containers[%d]: memory: %d: use %d to %d MiB", i, c.Memory, minMemory, maxMemory)
	case c.OOM == "":
		return nil
	case !slices.Contains(known, string(c.OOM)):
		return spelling.Unknown("oom", string(c.OOM), known)
	case c.Memory == 0:
		return fmt.Errorf("containers[%d]: oom: there is no limit to exceed: add one, such as memory: 32", i)
	case c.Signal != "" || c.Floods || c.HoldStdout:
		return fmt.Errorf("containers[%d]: oom: such a container must end by itself: remove signal, floods, holdStdout",
			i)
	case c.OOM == OOMInit && c.Exit != 0:
		return fmt.Errorf("containers[%d]: oom: init: the kernel kills the init with SIGKILL (137): remove exit", i)
	}
	return nil
}
