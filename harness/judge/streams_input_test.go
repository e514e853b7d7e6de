package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
)

// fed is an input of 40 lines that was closed at a time, and read whole.
func fed(ms int) *harness.Input {
	return &harness.Input{Lines: 40, Wrote: 40, Closing: at(ms), Closed: at(ms + 1), Timeout: time.Second,
		Read: harness.Output{Last: 40, LastAt: at(ms)}}
}

// withInput makes the container of the clean history, and an exec in it, read 40 lines.
// They read the end of their input at 28 and at 23.
func withInput(h *harness.History) {
	withExec(h)
	i := &h.Instances[0]
	i.Spec.Stdin = 40
	i.Input, i.Execs[0].Input = fed(26), fed(21)
	i.Payload.EOFAt, i.Execs[0].Payload.EOFAt = at(28), at(23)
}

func TestRulesOfInputs(t *testing.T) {
	with := func(change func(*harness.History, *harness.Instance)) func(*harness.History) {
		return func(h *harness.History) {
			withInput(h)
			change(h, &h.Instances[0])
		}
	}
	// cut removes the last lines of the container's input, and makes another change.
	cut := func(change func(*harness.History)) func(*harness.History) {
		return with(func(h *harness.History, i *harness.Instance) {
			i.Input.Read.Last = 30
			change(h)
		})
	}
	// open makes the container never read the end of its input, so that it is killed.
	open := func(change func(*harness.History, *harness.Instance)) func(*harness.History) {
		return func(h *harness.History) {
			killedByNobody(h)
			i := &h.Instances[0]
			h.Signals, i.Input = sigkill(29), fed(26)
			i.Input.Read.Last, i.Input.Timeout = 39, time.Millisecond
			change(h, i)
		}
	}
	early := func(h *harness.History, i *harness.Instance) { i.Payload.EOFAt, i.Input.Read.Last = at(25), 10 }
	const lost, stays = "liveness container what=input output=missing", "liveness container what=input-open"
	judged(t, map[string]row{
		"all of it":             {withInput, ""},
		"without any fault":     {with(func(h *harness.History, _ *harness.Instance) { plain(h) }), ""},
		"its last lines":        {cut(func(*harness.History) {}), lost},
		"and its shim died":     {cut(func(h *harness.History) { kill(h, "shim", 42) }), ""},
		"and another's":         {cut(func(h *harness.History) { kill(h, "shim", 99) }), lost},
		"and it stood still":    {cut(func(h *harness.History) { h.Stops = []harness.Stop{{From: at(25)}} }), ""},
		"and a call was broken": {cut(func(*harness.History) {}), lost},
		"and what copies it was": {cut(func(h *harness.History) {
			h.Done = at(50)
			h.Hits[2].Who, h.Hits[2].Did, h.Hits[2].Point = "containerd", term.Error, "stmt:containerd:x.Process.CloseIO:x"
		}), ""},
		"a hole in it": {with(func(_ *harness.History, i *harness.Instance) {
			i.Input.Read.Holes = []harness.MissingLines{{From: 5, To: 6}}
		}), lost},
		"lines came twice": {with(func(_ *harness.History, i *harness.Instance) { i.Input.Read.Repeated = 2 }),
			"liveness container what=input output=repeated"},
		"others' lines came": {with(func(_ *harness.History, i *harness.Instance) { i.Input.Read.Foreign = 1 }),
			"liveness container what=input output=foreign"},
		"an exec's last lines": {with(func(_ *harness.History, i *harness.Instance) { i.Execs[0].Input.Read.Last = 39 }),
			lost + " of=exec"},
		"it never ends": {open(func(*harness.History, *harness.Instance) {}), stays},
		"and was never closed": {open(func(_ *harness.History, i *harness.Instance) {
			i.Input.Closed = time.Time{}
		}), ""},
		"and the client had killed it": {open(func(h *harness.History, _ *harness.Instance) {
			h.Signals = sigkill(25)
		}), ""},
		"and a fault has killed it": {open(func(h *harness.History, _ *harness.Instance) { kill(h, "task", 41) }), ""},
		"an exec's never ends": {with(func(h *harness.History, i *harness.Instance) {
			e := &i.Execs[0]
			e.Payload.EOFAt, e.Payload.Exited = time.Time{}, false
			h.Calls = callsAt("kill", 24)
			for n := range h.Reported[2:] {
				h.Reported[2+n].Status = 137
			}
			h.Events[4].Status = 137
		}), stays + " of=exec"},
		"it ends before it is closed": {with(early), "liveness container what=input-ended"},
		"and nothing was to close it": {with(func(h *harness.History, i *harness.Instance) {
			early(h, i)
			i.Input.Closing, i.Input.Closed = time.Time{}, time.Time{}
		}), ""},
		"its output is what it has read": {with(func(_ *harness.History, i *harness.Instance) {
			i.Payload.Wrote = 40
			i.Outputs = &harness.Outputs{Stdout: harness.Output{Last: 40}}
		}), ""},
		"and the last of that is lost": {with(func(_ *harness.History, i *harness.Instance) {
			i.Payload.Wrote = 40
			i.Outputs = &harness.Outputs{Stdout: harness.Output{Last: 39}}
		}), "liveness container what=output output=missing stream=stdout"},
	})
}
