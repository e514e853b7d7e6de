package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
)

// all is an output of 40 lines.
func all() *harness.Outputs {
	o := harness.Output{Last: 40, LastAt: at(29)}
	return &harness.Outputs{Stdout: o, Stderr: o}
}

// withOutput has the clean history's container, and an exec in it, write 40 lines.
func withOutput(h *harness.History) {
	withExec(h)
	h.Instances[0].Spec.Lines = 40
	h.Instances[0].Outputs, h.Instances[0].Execs[0].Outputs = all(), all()
}

func TestRulesOfOutputs(t *testing.T) {
	with := func(change func(*harness.History, *harness.Instance)) func(*harness.History) {
		return func(h *harness.History) {
			withOutput(h)
			change(h, &h.Instances[0])
		}
	}
	// cut has the last lines of the container's error output be lost, and something happen.
	cut := func(change func(*harness.History)) func(*harness.History) {
		return with(func(h *harness.History, i *harness.Instance) {
			i.Outputs.Stderr.Last = 30
			change(h)
		})
	}
	dies := func(ms int) func(*harness.History) {
		return func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(ms), BackIn: time.Millisecond, Asked: true}}
		}
	}
	statement := func(did term.Action) func(*harness.History) {
		return func(h *harness.History) {
			h.Done = at(50)
			h.Hits[2].Who, h.Hits[2].Did = "containerd", did
			h.Hits[2].Point = "stmt:containerd:io.ContainerIO.Pipe:x"
		}
	}
	logged := func(ms int) func(*harness.History) { // of a pod
		return func(h *harness.History) {
			g := logWritten(runOf(h), h.Instances[0])
			if g != (span{}) {
				t.Error("a task has no log")
			}
			h.CRI = &harness.CRISeen{}
			if g = logWritten(runOf(h), h.Instances[0]); !g.to.Equal(at(31)) {
				t.Errorf("its log is written in %v", g)
			}
			h.CRI = nil
			dies(ms)(h)
		}
	}
	const missing = "liveness container what=output output=missing"
	judged(t, map[string]row{
		"nobody reads it": {with(func(_ *harness.History, i *harness.Instance) {
			i.Spec.Unread, i.Outputs.Stderr.Last, i.Outputs.Stderr.Cut = true, 30, true
		}), ""},
		"all of it":                    {withOutput, ""},
		"its last lines":               {cut(func(*harness.History) {}), missing + " stream=stderr"},
		"and its shim died":            {cut(func(h *harness.History) { kill(h, "shim", 42) }), ""},
		"and another's":                {cut(func(h *harness.History) { kill(h, "shim", 99) }), missing},
		"and it stood still":           {cut(func(h *harness.History) { h.Stops = []harness.Stop{{From: at(25)}} }), ""},
		"a call was broken":            {cut(func(*harness.History) {}), missing},
		"what copies it broke":         {cut(statement(term.Error)), ""},
		"it was only held":             {cut(statement(term.Delay)), missing},
		"containerd has no part in it": {cut(logged(30)), missing},
		"its disk is under pressure": {cut(func(h *harness.History) {
			h.Case.Plan = append(h.Case.Plan, failpoints.Pressure("io:root:running", "4MiB/s,60MiB"))
			h.Firings = append(h.Firings, harness.Firing{Fault: 1, Text: "x", Count: 1, Proof: "x"})
		}), ""},
		"a killed one has written none": {func(h *harness.History) {
			killedByNobody(h)
			h.Signals = sigkill(25)
			h.Instances[0].Spec.Lines, h.Instances[0].Outputs = 40, &harness.Outputs{}
		}, ""},
		"lines came twice": {with(func(_ *harness.History, i *harness.Instance) { i.Outputs.Stdout.Repeated = 1 }),
			"liveness container what=output output=repeated stream=stdout"},
		"others' lines came": {with(func(_ *harness.History, i *harness.Instance) { i.Outputs.Stdout.Foreign = 1 }),
			"liveness container what=output output=foreign"},
		"a log has other times": {with(func(_ *harness.History, i *harness.Instance) { i.Outputs.Stdout.Misdated = 1 }),
			"liveness container what=output output=misdated"},
		"its log was rotated": {with(func(_ *harness.History, i *harness.Instance) {
			i.Rotations = []harness.Rotation{{At: at(10), Answered: at(11)}}
		}), ""},
		"its log was not rotated": {with(func(_ *harness.History, i *harness.Instance) {
			i.Rotations = []harness.Rotation{{At: at(10), Answered: at(11)}, {At: at(12), Answered: at(13), Late: 3}}
		}), "liveness container what=output output=unrotated"},
		"its log came later than its end": {atExit(20, 400), "liveness container what=output output=late stream=stdout"},
		"it was under way":                {atExit(214, 400), ""},
		"its shim died then": {func(h *harness.History) {
			atExit(20, 400)(h)
			kill(h, "shim", 42)
		}, ""},
		"an exec's last lines": {with(func(_ *harness.History, i *harness.Instance) { i.Execs[0].Outputs.Stdout.Last = 1 }),
			missing + " of=exec stream=stdout"},
		"a file lacks the error output": {with(func(_ *harness.History, i *harness.Instance) {
			i.Spec.Log, i.Outputs.Stderr = harness.LogFile, harness.Output{}
		}), ""},
		"a file lacks the output": {with(func(_ *harness.History, i *harness.Instance) {
			i.Spec.Log, i.Outputs.Stdout = harness.LogFile, harness.Output{}
		}), missing + " stream=stdout"},
		"a file has lost what it had": {with(func(_ *harness.History, i *harness.Instance) { i.Outputs.Overwritten = true }),
			"liveness container what=output output=overwritten"},
		"an exec's logger runs on": {
			with(func(_ *harness.History, i *harness.Instance) { i.Execs[0].Outputs.LoggerRuns = true }),
			"liveness container what=output output=logger-runs of=exec"},
		"a logger knows whose output it has": {
			with(func(_ *harness.History, i *harness.Instance) { i.Outputs.LoggedAs = daemon.TaskNamespace + "/c0" }), ""},
		"it was told another's": {
			with(func(_ *harness.History, i *harness.Instance) { i.Outputs.LoggedAs = "c0/" + daemon.TaskNamespace }),
			"liveness container what=output output=another-log"},
		"that of an exec was told its container's": {
			with(func(_ *harness.History, i *harness.Instance) {
				i.Execs[0].Outputs.LoggedAs = daemon.TaskNamespace + "/c0"
			}),
			"liveness container what=output output=another-log of=exec"},
		"one runs on, and its shim died": {with(func(h *harness.History, i *harness.Instance) {
			i.Outputs.LoggerRuns = true
			kill(h, "shim", 42)
		}), ""},
		"one of what was never deleted": {with(func(_ *harness.History, i *harness.Instance) {
			i.Outputs.LoggerRuns, i.Deleted = true, time.Time{}
		}), ""},
		"of an exec that was never deleted": {with(func(_ *harness.History, i *harness.Instance) {
			i.Execs[0].Outputs.Stdout.Last, i.Execs[0].Deleted = 1, time.Time{}
		}), ""},
	})
}

// CRI's own log dies with containerd.
func TestALogDiesWithContainerd(t *testing.T) {
	for ms, broken := range map[int]bool{20: true, 30: true, 32: false, -3000: false} {
		h := clean()
		withOutput(&h)
		h.CRI = &harness.CRISeen{}
		h.Deaths = []daemon.Death{{At: at(ms), BackIn: time.Millisecond, Asked: true}}
		if got := toleratedOf(runOf(&h), outputRead, h.Instances[0], logWritten(runOf(&h), h.Instances[0])); got != broken {
			t.Errorf("it died at %d ms: its log may be lost: %t", ms, got)
		}
	}
}

// atExit changes the number of lines of the standard output in a log. It is had when
// CRI reports the exit of the container, and all later.
func atExit(had, all int) func(*harness.History) {
	return func(h *harness.History) {
		withOutput(h)
		i := &h.Instances[0]
		i.Spec.Lines = all
		full := harness.Output{Last: all, LastAt: at(29)}
		i.Outputs = &harness.Outputs{Stdout: full, Stderr: full}
		i.OutputsAtExit = &harness.Outputs{Stdout: harness.Output{Last: had, LastAt: at(28)}, Stderr: full}
		i.Execs[0].Outputs = i.Outputs
	}
}
