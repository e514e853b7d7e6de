package harness

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// IODrain is how long runc's shim waits for the output of what has exited until it
// deletes it all the same (execProcess.delete and Init.delete of v2.4.2).
const IODrain = 10 * time.Second

// Drains is how long a call of the workload may wait for who holds the output of an
// exec, or does not read that of a container.
func (w Workload) Drains(c Call) time.Duration {
	of, named := ObjectNamed(c.Of)
	if !named || c.Verb != "delete" || of.Container >= len(w.Containers) {
		return 0
	}
	k := w.Containers[of.Container]
	if !of.IsExec() && k.Unread || of.IsExec() && k.Execs[of.Exec].Background {
		return IODrain
	}
	return 0
}

func (e ExecSpec) isBackground() bool { return e.Background }

// checkBesides reports what the client or the shim of a workload cannot do.
func (c Container) checkBesides(w Workload) error {
	switch {
	case (len(c.Execs) > 0 || c.Lines > 0 || c.Stdin > 0) && w.Fakeshim != "":
		return errors.New("execs, lines, stdin: by runc's shim only: leave out fakeshim")
	case c.Log != "" && w.API == CRI:
		return errors.New("log: by the task API only: leave out api: cri")
	case w.API != CRI && w.CallTimeout < 2*IODrain && slices.ContainsFunc(c.Execs, ExecSpec.isBackground):
		return fmt.Errorf("background: its Delete takes %s: add callTimeout: %s", IODrain, 2*IODrain)
	}
	return nil
}
