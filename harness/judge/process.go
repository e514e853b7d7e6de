package judge

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// process is the init of a container of the workload, or an exec in it.
type process struct {
	h *run
	i harness.Instance
	e *harness.Exec // nil: the init
}

func initOf(h *run, i harness.Instance) process { return process{h, i, nil} }

// processes returns the processes of the workload: each init, followed by its execs.
func processes(h *run) (all []process) {
	for n := range h.Instances {
		i := h.Instances[n]
		all = append(all, initOf(h, i))
		for m := range i.Execs {
			all = append(all, process{h, i, &i.Execs[m]})
		}
	}
	return all
}

// processOf returns the process of a container, or of an exec in it. If the client did
// not ask for the exec, it returns the init.
func processOf(h *run, container, exec string) (process, bool) {
	n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID != "" && i.ID == container })
	if n < 0 {
		return process{}, false
	}
	p := initOf(h, h.Instances[n])
	m := slices.IndexFunc(p.i.Execs, func(e harness.Exec) bool { return e.Called() == exec })
	if exec != "" && m >= 0 {
		p.e = &p.i.Execs[m]
	}
	return p, true
}

// exec returns the id of the exec, or "" for the init.
func (p process) exec() string {
	if p.e == nil {
		return ""
	}
	return p.e.Called()
}

// pid returns the pid as the client knows it, or 0.
func (p process) pid() uint32 {
	if p.e == nil {
		return p.i.PID
	}
	return p.e.PID
}

// record returns what the payload of the process recorded.
func (p process) record() payload.Truth {
	if p.e == nil {
		return p.i.Payload
	}
	return p.e.Payload
}

// find returns a finding about the process.
func (p process) find(invariant finding.Invariant, class finding.Class, fs fact.Facts) finding.Finding {
	return finding.Finding{Invariant: invariant, Class: class, Facts: ofExec(p.exec(), fs),
		Subject: finding.Subject{ID: p.i.ID, Exec: p.exec(), PID: int(p.pid())}}
}

// ofExec adds to facts that they are about an exec.
func ofExec(exec string, fs fact.Facts) fact.Facts {
	if exec != "" {
		fs[fact.Of] = fact.AnExec
	}
	return fs
}

// killed is the exit status of a process that SIGKILL ended: signalBase and its number.
const (
	signalBase = 128
	killed     = signalBase + uint32(unix.SIGKILL)
)

// truth returns how the process really ended. ran is false if its payload never began.
//
// SIGKILL ended a payload that recorded its start and not its end. A payload handles or
// ignores every other signal, and the default action of a signal does not affect the init
// of a PID namespace. A payload that dies of SIGSEGV records its exit before. If the
// world's init reaped the process with another status, truth returns an error.
func (p process) truth() (t exit.Truth, ran bool, err error) {
	own, name := p.record(), p.i.Name
	if p.e != nil {
		name = p.i.Record(*p.e)
	}
	t = exit.Truth{Container: p.i.ID, Exec: p.exec(), Status: killed,
		Source: "killed: its own record ends before its exit"}
	switch {
	case p.i.ID == "":
		return exit.Truth{}, false, nil
	case own.Runs == 0:
		t.Source = "SIGKILL sent by the harness, before its payload began"
		return t, !killOf(p.h, p.pid()).IsZero(), nil
	case own.Runs > 1:
		return exit.Truth{}, true, fmt.Errorf("the payload of %s was started %d times", name, own.Runs)
	}
	if !own.HoggedAt.IsZero() && own.ChildAt.IsZero() {
		t.Source = "killed: its own record ends when it runs out of memory"
	}
	if own.Exited {
		t.Status, t.Source = uint32(own.Status), "its own record"
	}
	if p.e == nil && p.i.Spec.Segfault != "" && own.Exited && clientKilled(p.h, p.i) && reportedKilled(p.h, p.i) {
		t.Status, t.Source = killed, "killed: by the client, when it was about to die of SIGSEGV"
	}
	for _, e := range p.h.Exits {
		if p.pid() == 0 || e.PID != int(p.pid()) {
			continue
		}
		if e.Code != t.Status {
			return t, true, fmt.Errorf("the payload of %s: %s says %d, the world's init reaped pid %d with %d",
				name, t.Source, t.Status, p.pid(), e.Code)
		}
		t.Source += fmt.Sprintf(", reaped by the world's init as pid %d", p.pid())
	}
	return t, true, nil
}

// reportedKilled reports whether an observer reported that SIGKILL ended the container. A
// process that dies of SIGSEGV needs time to write its core. If the client kills it
// meanwhile, only the kernel knows which signal ended it.
func reportedKilled(h *run, i harness.Instance) bool {
	return slices.ContainsFunc(h.Reported, func(o exit.Observation) bool {
		return o.Container == i.ID && o.Exec == "" && o.Status == killed
	})
}

// reportedTrue reports whether a status is the true status of a process. A made-up status
// also has a made-up time: containerd may clean up after a dead shim while the container
// still runs.
func (p process) reportedTrue(status uint32) bool {
	t, ran, err := p.truth()
	return ran && err == nil && t.Status == status
}
