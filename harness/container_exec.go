package harness

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// IODrain is how long runc's shim waits for the end of an exited process's output. After
// that it deletes the process (execProcess.delete and Init.delete of v2.4.2).
const IODrain = 10 * time.Second

// Drains returns how long the shim may delay a call of the workload because it waits for
// output: IODrain or 0. A delete waits if a child keeps an exec's output open, or if the
// client does not read a container's output.
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

// checkSupport returns an error if the workload's client or shim does not support the
// container's keys.
func (c Container) checkSupport(w Workload) error {
	switch {
	case (len(c.Execs) > 0 || c.Lines > 0 || c.Stdin > 0) && w.Fakeshim != "":
		return errors.New("execs, lines, stdin: only runc's shim supports them: remove fakeshim")
	case c.Log != "" && w.API == CRI:
		return errors.New("log: only the task API supports it: remove api: cri")
	case w.API != CRI && w.CallTimeout < 2*IODrain && slices.ContainsFunc(c.Execs, ExecSpec.isBackground):
		return fmt.Errorf("leavesChild: the delete of such an exec takes %s: add callTimeout: %s", IODrain, 2*IODrain)
	}
	return nil
}
