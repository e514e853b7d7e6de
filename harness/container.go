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

// OOM is which process of a container is OOM-killed.
type OOM string

// The processes.
const (
	OOMInit  OOM = "init"  // the container ends with it, by SIGKILL (137)
	OOMChild OOM = "child" // the container runs on, and ends by its own exit
)

// Segfault is what a payload that dies of SIGSEGV leaves.
type Segfault string

// What it leaves.
const (
	// SegfaultCore: its core, in the world's folder of records, where the machine writes
	// cores to files (core_pattern) and allows them (RLIMIT_CORE); else none.
	SegfaultCore Segfault = "core"
	SegfaultBare Segfault = "bare" // no core
)

// Container is a container with a known end.
type Container struct {
	// Exit is the exit status of the payload.
	Exit int `yaml:"exit,omitempty"`
	// Signal is sent by the client in place of an Exit: SIGKILL (137), SIGTERM (143) or
	// SIGUSR1 (138). SIGUSR1 is the stop signal of an image, so it needs CRI.
	Signal string `yaml:"signal,omitempty"`
	// Segfault makes the payload die of SIGSEGV (139): core with a core, bare without. It
	// takes the place of Exit.
	Segfault Segfault `yaml:"segfault,omitempty"`
	// NoSuchCommand names a missing command, which runc refuses. The task cannot be created.
	// It excludes all other keys, and is not for the first container with Restart.
	NoSuchCommand bool `yaml:"noSuchCommand,omitempty"`
	// HoldStdout leaves a child that holds the standard output.
	HoldStdout bool `yaml:"holdStdout,omitempty"`
	// Floods writes to the standard output without end. CRI only: a client of the task API
	// reads output only with Lines.
	Floods bool `yaml:"floods,omitempty"`
	// IgnoresTerm makes the payload ignore SIGTERM. After StopGrace it is killed: by CRI's
	// StopContainer itself, by the client of the task API as `docker stop` does. It needs
	// signal: SIGTERM.
	IgnoresTerm bool `yaml:"ignoresTerm,omitempty"`
	// Children is the number of processes that the payload leaves behind. Only SIGKILL or
	// the end of their PID namespace ends them.
	Children int `yaml:"children,omitempty"`
	// SharedPID shares the PID namespace of the node, or of the pod with CRI. Children
	// outlive the init there, and must be killed.
	SharedPID bool `yaml:"sharedPID,omitempty"`
	// Stays has the container of a script run until something ends it.
	Stays bool `yaml:"stays,omitempty"`
	// TTY gives the container a terminal, whose other end its shim holds. By the task API
	// its exec and that of ExecSignal have one, too, what is written to them is read, and
	// the windows of the container and of that of ExecSignal are given another size. With
	// CRI a bystander has one where the first container has.
	TTY bool `yaml:"tty,omitempty"`
	// Lines is the number of lines that the payload writes to each of its outputs before its
	// end. They are numbered and written at once. Its Exec writes them, too. They are read
	// from FIFOs, or with CRI from the container's log and the response of ExecSync. Up to
	// 20000.
	Lines int `yaml:"lines,omitempty"`
	// Log makes the shim write Lines to a file or to a logger (binary) in place of FIFOs,
	// one for the container and for each exec. Task API only. A file has at most
	// LogFileLines, so that the two streams do not mix.
	Log Log `yaml:"log,omitempty"`
	// Unread leaves the Lines unread until the deletion, as after the death of a client. The
	// shim waits for a reader for IODrain, and then deletes the container. Task API only,
	// with at most UnreadLines and a callTimeout of twice IODrain. No other output is read.
	Unread bool `yaml:"unread,omitempty"`
	// Stdin is how many numbered lines are written to the standard input of the payload, and
	// of its Exec, which read to the end, write what they have read to their output, and
	// exit: no trigger lets them. The input is written in two parts, as by two clients that
	// attach one after the other, and is then closed by CloseIO. By CRI the steps of a
	// script write it. Up to 20000.
	Stdin int `yaml:"stdin,omitempty"`
	// Memory is how many MiB of memory the container may have, from 16 to 256, without any
	// swap. Default: no limit of its own. Not with fakeshim.
	Memory int `yaml:"memory,omitempty"`
	// Execs are the execs that the steps of a script run, up to 4: c0/e0, c0/e1, ...
	Execs []ExecSpec `yaml:"execs,omitempty"`
	// OOM is the process that exceeds Memory: init or child. The kernel kills it, at the end
	// of the container or before.
	OOM OOM `yaml:"oom,omitempty"`
}

// AbsentCommand is a program that there is not.
const AbsentCommand = "/shimquake-absent-command"

// StopGrace is how long a payload that ignores SIGTERM is given.
const StopGrace = time.Second

// Want is the exit status that the payload has unless a fault kills it.
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

// Signals are those that a container can be ended with.
var Signals = map[string]unix.Signal{
	"SIGKILL": unix.SIGKILL, "SIGTERM": unix.SIGTERM, payload.StopSignal: unix.SIGUSR1,
}

// execSignals are those that an exec can be ended with.
var execSignals = []string{"SIGTERM", payload.StopSignal}

// maxChildren is few enough for a world's limit on processes.
const maxChildren = 100

// problems are what is wrong with the i-th container of a workload.
func (c Container) problems(i int, w Workload) []error {
	all := []error{c.check(i), c.checkBesides(w)}
	alone := reflect.DeepEqual(c, Container{NoSuchCommand: true})
	if c.NoSuchCommand && (!alone || w.Fakeshim != "") {
		all = append(all, errors.New("noSuchCommand: it never runs: leave out all else, and fakeshim"))
	}
	if c.Floods && w.API != CRI {
		all = append(all, errors.New("floods: only a pod has a log here: add api: cri"))
	}
	if c.Memory > 0 && w.Fakeshim != "" {
		all = append(all, errors.New("memory: by runc's shim only: leave out fakeshim"))
	}
	if c.Stays && !w.Scripted() {
		all = append(all, errors.New("stays: in a script: add script"))
	}
	if c.Signal == payload.StopSignal && w.API != CRI {
		all = append(all, errors.New("signal: SIGUSR1: only CRI asks an image for its signal: add api: cri"))
	}
	if c.TTY && w.API == CRI && c.Stdin > 0 {
		all = append(all, errors.New("tty: its stdin is of the task API only: leave it or api: cri out"))
	}
	all = append(all, c.checkUnread(w))
	if c.TTY && w.API != CRI && (c.HoldStdout || c.Stdin > 0 || w.Fakeshim != "") {
		all = append(all, errors.New("tty: not with holdStdout, stdin and fakeshim by the task API"))
	}
	return all
}

func (c Container) check(i int) error {
	if c.Exit < 0 || c.Exit > 255 {
		return fmt.Errorf("containers[%d]: exit %d is not between 0 and 255", i, c.Exit)
	}
	if _, ok := Signals[c.Signal]; c.Signal != "" && !ok {
		return fmt.Errorf("containers[%d]: signal %q: SIGKILL and SIGTERM are sent, and SIGUSR1 by CRI", i, c.Signal)
	}
	if c.Signal != "" && c.Exit != 0 {
		return fmt.Errorf("containers[%d]: it ends by exit or by signal, not by both", i)
	}
	if c.IgnoresTerm && c.Signal != "SIGTERM" {
		return fmt.Errorf("containers[%d]: ignoresTerm needs the signal that is ignored: signal: SIGTERM", i)
	}
	if c.Floods && (c.Signal != "" || c.HoldStdout) {
		return fmt.Errorf("containers[%d]: floods: only one that ends by itself: leave out signal and holdStdout", i)
	}
	if c.Lines < 0 || c.Lines > payload.MaxLines || c.Lines > 0 && (c.HoldStdout || c.Floods) {
		return fmt.Errorf("containers[%d]: lines: %d: 1 to %d, and not with holdStdout or floods", i, c.Lines,
			payload.MaxLines)
	}
	if c.Stdin < 0 || c.Stdin > payload.MaxLines ||
		c.Stdin > 0 && (c.Signal != "" || c.Lines > 0 || c.Floods || c.HoldStdout || c.OOM == OOMInit) {
		return fmt.Errorf("containers[%d]: stdin: %d: 1 to %d, and not with signal, lines, floods, holdStdout, oom: init",
			i, c.Stdin, payload.MaxLines)
	}
	if c.Children < 0 || c.Children > maxChildren || c.Children > 0 && c.HoldStdout {
		return fmt.Errorf("containers[%d]: children: %d: 1 to %d, and not with holdStdout", i, c.Children, maxChildren)
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
		return fmt.Errorf("containers[%d]: segfault: only in place of exit, signal, floods, holdStdout, stdin, oom: init",
			i)
	}
	return nil
}

// What a container may be limited to: runc itself needs some MiB in it, and a world has
// 2 GiB for all.
const minMemory, maxMemory = 16, 256

func (c Container) checkMemory(i int) error {
	known := []string{string(OOMInit), string(OOMChild)}
	switch {
	case c.Memory != 0 && (c.Memory < minMemory || c.Memory > maxMemory):
		return fmt.Errorf("containers[%d]: memory: %d: %d to %d MiB can be given", i, c.Memory, minMemory, maxMemory)
	case c.OOM == "":
		return nil
	case !slices.Contains(known, string(c.OOM)):
		return spelling.Unknown("oom", string(c.OOM), known)
	case c.Memory == 0:
		return fmt.Errorf("containers[%d]: oom needs a limit that it comes to, such as memory: 32", i)
	case c.Signal != "" || c.Floods || c.HoldStdout:
		return fmt.Errorf("containers[%d]: oom: only one that ends by itself: leave out signal, floods, holdStdout", i)
	case c.OOM == OOMInit && c.Exit != 0:
		return fmt.Errorf("containers[%d]: oom: init is killed, and exits with nothing: leave out exit", i)
	}
	return nil
}
