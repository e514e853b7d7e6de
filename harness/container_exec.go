package harness

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/spelling"
)

// IODrain is how long runc's shim waits for the output of what has exited until it
// deletes it all the same (execProcess.delete and Init.delete of v2.4.2).
const IODrain = 10 * time.Second

// Drains is how long a call of the workload may wait for who holds the output of an
// exec, or does not read that of a container.
func (w Workload) Drains(c Call) time.Duration {
	for n, k := range w.Containers {
		if c.Of == fmt.Sprintf("c%d", n) && (c.Verb == "exec-delete" && k.BackgroundExec || c.Verb == "delete" && k.Unread) {
			return IODrain
		}
	}
	return 0
}

// hasOtherExec reports whether the client deletes an exec of it that leaves nobody
// behind.
func (c Container) hasOtherExec() bool {
	return c.Exec != 0 || c.HeldExec || c.ExecSignal != "" || c.NoSuchExec
}

// besides reports whether something is done to a container while it runs.
func (c Container) besides() bool {
	return c.Exec != 0 || c.HeldExec || c.NoSuchExec || c.BackgroundExec ||
		c.ExecSignal != "" || c.Pause
}

// checkBesides reports what the client or the shim of a workload cannot do.
func (c Container) checkBesides(w Workload) error {
	switch {
	case (c.besides() || c.Lines > 0 || c.Stdin > 0) && w.Fakeshim != "":
		return errors.New("exec, heldExec, noSuchExec, execSignal, pause, lines, stdin: " +
			"by runc's shim only: leave out fakeshim")
	case c.ExecSignal != "" && !slices.Contains(execSignals, c.ExecSignal):
		return spelling.Unknown("execSignal", c.ExecSignal, execSignals)
	case (c.Pause || c.ExecSignal != "" || c.Log != "") && w.API == CRI:
		return errors.New("pause, execSignal, log: by the task API only: leave out api: cri")
	case w.API == CRI && (c.Exec != 0 || c.HeldExec || c.NoSuchExec || c.BackgroundExec):
		return errors.New("exec, heldExec, noSuchExec, backgroundExec: of the task API: by CRI write execs, and a step " +
			"that runs one, such as execsync c0/e0")
	case (c.ExecStartAgain || c.LateKill) && (w.API == CRI || w.Fakeshim != ""):
		return errors.New("execStartAgain, lateKill: by the task API and runc's shim only: leave out api: cri and fakeshim")
	case c.BackgroundExec && (w.Fakeshim != "" || c.TTY || c.Log != "" || w.CallTimeout < 2*IODrain ||
		slices.ContainsFunc(w.Containers, Container.hasOtherExec)):
		return fmt.Errorf("backgroundExec: by runc's shim only, and its Delete takes %s: leave out fakeshim, tty, log "+
			"and other execs, and add callTimeout: %s", IODrain, 2*IODrain)
	case c.ExecStartAgain && c.Exec == 0 && !c.HeldExec && !c.NoSuchExec && c.ExecSignal == "":
		return errors.New("execStartAgain: it needs an exec: add exec, heldExec, execSignal or noSuchExec")
	case c.NoSuchExec && (c.Lines > 0 || c.Stdin > 0 || c.TTY):
		return errors.New("noSuchExec: it writes and reads nothing: leave out lines, stdin and tty")
	}
	return nil
}
