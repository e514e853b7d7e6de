package judge

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
)

// signalBase is added to a signal's number in an exit status; killed is that of what
// SIGKILL ended.
const (
	signalBase = 128
	killed     = signalBase + uint32(unix.SIGKILL)
)

// truth is how the payload of a container really ended. ran is false when it never began.
//
// A payload that notes its start and not its end was killed: the program handles or
// ignores every other signal, and as the init of its PID namespace it is out of reach of
// their default actions. One that dies of SIGSEGV notes that before, as an exit. Where
// the world's init has reaped it, the wait status is compared.
func truth(h *harness.History, i harness.Instance) (t exit.Truth, ran bool, err error) {
	own := i.Payload
	switch {
	case i.ID == "":
		return exit.Truth{}, false, nil
	case own.Runs == 0:
		t, ran = killedBefore(h, i)
		return t, ran, nil
	case own.Runs > 1:
		return exit.Truth{}, true, fmt.Errorf("the payload of %s was started %d times", i.Name, own.Runs)
	}
	t = exit.Truth{Container: i.ID, Status: killed, Source: "killed: its own record ends before its exit"}
	if !own.HoggedAt.IsZero() && own.ChildAt.IsZero() {
		t.Source = "killed: its own record ends when it runs out of memory"
	}
	if own.Exited {
		t.Status, t.Source = uint32(own.Status), "its own record"
	}
	if i.Spec.Segfault != "" && own.Exited && clientKilled(h, i) && saidKilled(h, i) {
		t.Status, t.Source = killed, "killed: by the client, when it was about to die of SIGSEGV"
	}
	for _, e := range h.Exits {
		if i.PID == 0 || e.PID != int(i.PID) {
			continue
		}
		if e.Code != t.Status {
			return t, true, fmt.Errorf(
				"the payload of %s: %s says %d, the world's init reaped pid %d with %d",
				i.Name,
				t.Source,
				t.Status,
				i.PID,
				e.Code,
			)
		}
		t.Source += fmt.Sprintf(", reaped by the world's init as pid %d", i.PID)
	}
	return t, true, nil
}

// saidKilled reports whether who reports the end of a container says that SIGKILL was it.
// A core takes time to write: which of two signals has ended it nobody else knows.
func saidKilled(h *harness.History, i harness.Instance) bool {
	return slices.ContainsFunc(h.Reported, func(o exit.Observation) bool {
		return o.Container == i.ID && o.Exec == "" && o.Status == killed
	})
}

// killedBefore is the truth of a container whose payload never began because the harness
// has killed its init before.
func killedBefore(h *harness.History, i harness.Instance) (exit.Truth, bool) {
	for _, k := range h.Kills {
		if i.PID != 0 && k.PID == int(i.PID) {
			return exit.Truth{
				Container: i.ID,
				Status:    killed,
				Source:    "SIGKILL sent by the harness, before its payload began",
			}, true
		}
	}
	return exit.Truth{}, false
}
