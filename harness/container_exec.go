package harness

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// IODrain is runc's shim's timeout for the output of an exited process. After it the shim
// deletes the process (execProcess.delete and Init.delete of v2.4.2).
const IODrain = 10 * time.Second

// Drains returns how long a call of the workload may wait for IODrain. A delete waits
// if a child holds an exec's output, or if the client does not read a container's
// output.
func (w Workload) Drains(c Call) time.Duration {
	of, named := ObjectNamed(c.Of)
	if !named || c.Verb != "delete" || of.Container >= len(w.Containers) {
		return 0
	}
	k := w.Containers[of.Container]
	if !of.IsExec() && k.Unread || of.IsExec() && k.Execs[of.Exec].LeavesChild {
		return IODrain
	}
	return 0
}

func (e ExecSpec) isBackground() bool { return e.LeavesChild }

// checkBesides returns an error if the workload's client or shim cannot do this.
func (c Container) checkBesides(w Workload) error {
	switch {
	case (len(c.Execs) > 0 || c.Lines > 0 || c.Stdin > 0) && w.Fakeshim != "":
		return errors.New("execs, lines, stdin: only runc's shim has them: leave out fakeshim")
	case c.Log != "" && w.API == CRI:
		return errors.New("log: only by the task API: leave out api: cri")
	case w.API != CRI && w.CallTimeout < 2*IODrain && slices.ContainsFunc(c.Execs, ExecSpec.isBackground):
		return fmt.Errorf("background: its Delete takes %s: add callTimeout: %s", IODrain, 2*IODrain)
	}
	return nil
}
