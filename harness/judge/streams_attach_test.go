package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
)

// readOf returns outputs of this many lines.
func readOf(stdout, stderr int) *harness.Outputs {
	return &harness.Outputs{Stdout: harness.Output{Last: stdout, LastAt: at(29)},
		Stderr: harness.Output{Last: stderr, LastAt: at(29)}}
}

// withAttach adds a client that attaches and breaks its connection. Another client writes
// the rest of an input of 40 lines, and stays.
func withAttach(h *harness.History) {
	i := &h.Instances[0]
	i.Spec.Stdin, i.Payload.Wrote = 40, 40
	i.Input = &harness.Input{Lines: 40, Wrote: 40, Open: true, Read: harness.Output{Last: 40, LastAt: at(27)}}
	i.Attaches = []harness.Attach{
		{Breaks: harness.BreaksInput, Begun: at(21), Broke: at(23), Ended: at(24), Timeout: time.Second},
		{Begun: at(25), Ended: at(33), Timeout: time.Second, Outputs: readOf(40, 40)},
	}
}

// The rows are about the streams of a client that attaches. They have the form of
// TestRules.
func TestRulesOfAttaches(t *testing.T) {
	with := func(change func(*harness.History, *harness.Instance)) func(*harness.History) {
		return func(h *harness.History) {
			withAttach(h)
			change(h, &h.Instances[0])
		}
	}
	told := func(stdout, stderr int) func(*harness.History, *harness.Instance) {
		return func(_ *harness.History, i *harness.Instance) { i.Attaches[1].Outputs = readOf(stdout, stderr) }
	}
	fails := func(_ *harness.History, i *harness.Instance) { i.Attaches[1].Err = failed("Unknown", "x") }
	hit := func(did term.Action) func(*harness.History) {
		return func(h *harness.History) { h.Hits[2].Did, h.Hits[2].Time, h.Firings[0].At = did, at(26), at(26) }
	}
	const lost = "liveness container of=attach what=output output=missing"
	judged(t, map[string]row{
		"one breaks, and another stays":    {withAttach, ""},
		"without any fault":                {also(plain, withAttach), ""},
		"one stream ends before the other": {with(told(40, 30)), ""},
		"or that before the one":           {with(told(30, 40)), ""},
		"one stream ends in the middle of a line": {with(func(_ *harness.History, i *harness.Instance) {
			i.Attaches[1].Outputs = readOf(40, 30)
			i.Attaches[1].Outputs.Stderr.Cut = true
		}), ""},
		"it goes on behind its last line": {with(func(_ *harness.History, i *harness.Instance) {
			i.Attaches[1].Outputs.Stderr.Cut = true
		}), "liveness container of=attach what=output output=foreign stream=stderr"},
		"one stream has not begun": {with(told(40, 0)), lost + " stream=stderr"},
		"a line of nobody is in one stream": {with(func(_ *harness.History, i *harness.Instance) {
			i.Attaches[1].Outputs.Stderr.Foreign = 1
		}), "liveness container of=attach what=output output=foreign stream=stderr"},
		"it is not told the last of both": {with(told(39, 39)), lost + " stream=stdout"},
		"who closes the input is not told the last of one": {with(func(h *harness.History, i *harness.Instance) {
			i.Input, i.Payload.EOFAt = fed(26), at(28)
			told(40, 30)(h, i)
		}), lost + " stream=stderr"},
		"and a call was held":   {also(hit(term.Delay), with(told(39, 0))), lost},
		"and a call was broken": {also(hit(term.Error), with(told(39, 0))), ""},
		"and its shim was killed": {with(func(h *harness.History, i *harness.Instance) {
			told(0, 0)(h, i)
			kill(h, "shim", 42)
		}), ""},
		"it fails":                        {with(fails), "liveness container of=attach what=attach-failed code=Unknown"},
		"it fails, and a call was broken": {also(hit(term.Error), with(fails)), ""},
		"its stream does not end": {with(func(_ *harness.History, i *harness.Instance) {
			i.Attaches[1].Ended = time.Time{}
		}), "liveness container of=attach what=attach-open bound=1s"},
		"that of who has left does not": {with(func(_ *harness.History, i *harness.Instance) {
			i.Attaches[0].Ended = time.Time{}
		}), "liveness container of=attach what=attach-open"},
		"and nobody knows of the end": {with(func(_ *harness.History, i *harness.Instance) {
			i.Attaches[1].Ended, i.Waited = time.Time{}, time.Time{}
		}), ""},
		"who has left ends the input": {with(func(_ *harness.History, i *harness.Instance) { i.Payload.EOFAt = at(24) }),
			"liveness container what=input-ended after=client-gone"},
		"and containerd died": {also(hit(term.Delay), with(func(h *harness.History, i *harness.Instance) {
			i.Payload.EOFAt, h.Done = at(24), at(50)
			h.Deaths = []daemon.Death{{At: at(23), BackIn: time.Second, Asked: true}}
		})), ""},
		"the last of the input is lost": {with(func(_ *harness.History, i *harness.Instance) { i.Input.Read.Last = 30 }),
			"liveness container what=input output=missing"},
	})
}

// withStream makes the exec one of CRI's Exec.
func withStream(h *harness.History) {
	withSync(h)
	h.Instances[0].Execs[0].Sync.Streamed = true
}

// withOrphan makes the client of the exec disconnect at 23, so that the exec is killed.
func withOrphan(h *harness.History) {
	withSync(h)
	e := &h.Instances[0].Execs[0]
	e.Want, e.Payload = 137, payload.Truth{Runs: 1, StartedAt: at(22), ReadyAt: at(23)}
	e.Added, e.Started, e.Waited, e.Deleted = at(23), at(23), time.Time{}, time.Time{}
	e.Sync = &harness.ExecSync{Breaks: true, Broke: at(23), Answered: at(24)}
	h.Events[4].Status = 137
}

// The rows are about an exec by CRI's streaming server, also with a client that
// disconnects.
func TestRulesOfStreams(t *testing.T) {
	of := func(base func(*harness.History), change func(*harness.Exec)) func(*harness.History) {
		return func(h *harness.History) {
			base(h)
			change(&h.Instances[0].Execs[0])
		}
	}
	const lives = "liveness containerd of=exec what=exec-lives after=client-gone"
	judged(t, map[string]row{
		"a streamed exec": {withStream, ""},
		"it says 0": {of(withStream, func(e *harness.Exec) { e.Sync.Status = 0 }),
			"exit exit-code of=exec by=exec-stream status=made-up-0"},
		"it says nothing": {also(plain, of(withStream, func(e *harness.Exec) { e.Sync.Answered = time.Time{} })),
			"exit exit-code of=exec by=exec-stream status=unreported"},
		"its output is lost": {of(withStream, func(e *harness.Exec) {
			e.Outputs = readOf(0, 0)
			e.Outputs.Stdout.Repeated = 1
		}), "liveness container of=exec what=output output=repeated"},
		"its client goes":            {withOrphan, ""},
		"it goes, without any fault": {also(plain, withOrphan), ""},
		"and the exec lives on":      {of(withOrphan, func(e *harness.Exec) { e.Sync.Beats = 4 }), lives},
		"and a call was broken": {also(func(h *harness.History) {
			h.Hits[2].Did, h.Hits[2].Time, h.Firings[0].At = term.Error, at(23), at(23)
		}, of(withOrphan, func(e *harness.Exec) { e.Sync.Beats = 4 })), ""},
		"and its Delete was broken": {also(func(h *harness.History) {
			h.Hits[2].Did, h.Hits[2].Time, h.Firings[0].At = term.Error, at(27), at(27)
		}, of(withOrphan, func(e *harness.Exec) { e.Kept = "STOPPED" })), ""},
		"and leaves a file": {of(withOrphan, func(e *harness.Exec) { e.Sync.Left = left() }),
			"leak file of=exec in=running-container"},
		"and is known": {of(withOrphan, func(e *harness.Exec) { e.Kept = "RUNNING" }),
			"liveness containerd of=exec what=exec-kept task=RUNNING"},
		"a streamed one is killed": {of(withOrphan, func(e *harness.Exec) { e.Sync.Streamed, e.Want = true, 3 }), ""},
		"or ends by itself": {of(withOrphan, func(e *harness.Exec) {
			e.Sync.Streamed, e.Want = true, 3
			e.Payload.Exited, e.Payload.Status, e.Payload.ExitedAt = true, 4, at(24)
		}), "end end of=exec status=wrong true=4 want=3"},
	})
}
