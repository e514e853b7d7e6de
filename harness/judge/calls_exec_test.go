package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// withSync makes the exec one ExecSync, from 20 to 26.
func withSync(h *harness.History) {
	withExec(h)
	e := &h.Instances[0].Execs[0]
	e.Name, e.Sync = "e0", &harness.ExecSync{Answered: at(26), Status: 3}
	h.Reported, h.Flushed.Reported = h.Reported[:2], 2
}

// withTimedSync gives the ExecSync a timeout of a second, after which the exec is killed.
func withTimedSync(h *harness.History) {
	withSync(h)
	e := &h.Instances[0].Execs[0]
	e.Want, e.Payload, e.Begun = 137, payload.Truth{Runs: 1, StartedAt: at(22), ReadyAt: at(23)}, at(26-1000)
	e.Sync.Timeout, e.Sync.Status, e.Sync.Err = time.Second, 0, failed("DeadlineExceeded", "timeout 1s exceeded")
	h.Events[4].Status = 137
}

// withHeldSync lets the ExecSync return at the end of the container.
func withHeldSync(h *harness.History) {
	withHeldExec(h)
	e := &h.Instances[0].Execs[0]
	e.Name, e.Sync = "e0", &harness.ExecSync{Answered: e.Waited, Status: 137}
	h.Reported = h.Reported[:2]
	h.Flushed.Reported = 2
}

// left is a file that an exec has left.
func left() []inventory.Belonging {
	return []inventory.Belonging{{ID: "c0", File: inventory.File{Path: "/run/containerd/x/c0/e0.pid"}}}
}

// The rows are about the response to an ExecSync and its leaks. Their form is that of
// TestRules.
func TestRulesOfExecSync(t *testing.T) {
	of := func(base, change func(*harness.History), more func(*harness.Exec)) func(*harness.History) {
		return func(h *harness.History) {
			base(h)
			change(h)
			more(&h.Instances[0].Execs[0])
		}
	}
	nothing := func(*harness.History) {}
	says := func(status uint32) func(*harness.Exec) {
		return func(e *harness.Exec) { e.Sync.Status = status }
	}
	fails := func(e *harness.Exec) {
		e.Sync.Err, e.Sync.Status = failed("Unknown", "x"), 0
		e.Added, e.Started, e.Waited, e.Deleted = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	}
	leaves := func(e *harness.Exec) {
		e.Sync.Left = left()
	}
	// at23 moves the fault to 23, and sets its action.
	at23 := func(did term.Action) func(*harness.History) {
		return func(h *harness.History) {
			h.Hits[2].Did, h.Hits[2].Time = did, at(23)
			h.Firings[0].At = at(23)
		}
	}
	judged(t, map[string]row{
		"an ExecSync":           {withSync, ""},
		"one without any fault": {of(withSync, plain, says(3)), ""},
		"it says 0":             {of(withSync, nothing, says(0)), "exit exit-code of=exec by=exec-sync status=made-up-0"},
		"it says the init's":    {of(withSync, nothing, says(7)), "exit exit-code of=exec by=exec-sync status=wrong"},
		"it says nothing":       {of(withSync, plain, fails), "exit exit-code of=exec by=exec-sync status=unreported"},
		"a call was held, and it fails": {of(withSync, at23(term.Delay), fails),
			"liveness containerd of=exec what=exec-failed code=Unknown"},
		"a call was broken, and it fails": {of(withSync, at23(term.Error), fails), ""},
		"containerd died, and it fails": {of(withSync, func(h *harness.History) {
			at23(term.Delay)(h)
			h.Deaths = []daemon.Death{{At: at(23), BackIn: time.Second, Asked: true}}
		}, fails), ""},
		"its container was killed, and it fails": {of(withSync, func(h *harness.History) {
			at23(term.Delay)(h)
			kill(h, "task", 41)
		}, fails), ""},
		"its client has gone": {of(withSync, at23(term.Delay), func(e *harness.Exec) {
			fails(e)
			e.Sync.Err.Code = "Canceled"
		}), ""},
		"it leaves a file":      {of(withSync, nothing, leaves), "leak file of=exec in=running-container"},
		"and a call was broken": {of(withSync, at23(term.Error), leaves), ""},
		"it is known afterwards": {of(withSync, nothing, func(e *harness.Exec) { e.Kept = "STOPPED" }),
			"liveness containerd of=exec what=exec-kept task=STOPPED"},
		"and its Delete was broken": {of(withSync, at23(term.Error), func(e *harness.Exec) { e.Kept = "STOPPED" }), ""},
		"nobody tells its id": {of(withSync, func(h *harness.History) {
			h.Events = append(h.Events[:2:2], h.Events[5:]...)
			h.Flushed.Events -= 3
		}, func(e *harness.Exec) { e.ID, e.PID = "", 0 }), "event event of=exec event=missing topic=/tasks/exec-added"},
		"its container ends": {withHeldSync, ""},
		"its container ends, and it says 0": {of(withHeldSync, nothing, says(0)),
			"exit exit-code of=exec by=exec-sync status=made-up-0"},
		"its container ends, and it fails": {of(withHeldSync, at23(term.Delay), func(e *harness.Exec) {
			e.Sync.Err, e.Sync.Status = failed("Unknown", "x"), 0
		}), "liveness containerd of=exec what=exec-failed"},
		"its time is over": {withTimedSync, ""},
		"and it lives on": {of(withTimedSync, nothing, func(e *harness.Exec) { e.Sync.Beats = 4 }),
			"liveness containerd of=exec what=exec-lives after=time-over"},
		"and it was over too soon": {of(withTimedSync, nothing, func(e *harness.Exec) { e.Begun = at(26 - 900) }),
			"liveness containerd of=exec what=exec-early bound=1s"},
		"and a broken call is": {of(withTimedSync, at23(term.Error), func(e *harness.Exec) { e.Begun = at(26 - 900) }), ""},
		"and it is said to have ended": {of(withTimedSync, nothing, func(e *harness.Exec) { e.Sync.Err = nil }),
			"liveness containerd of=exec what=exec-untimed"},
		"and it was answered otherwise": {of(withTimedSync, at23(term.Delay), func(e *harness.Exec) {
			e.Sync.Err.Code = "Unknown"
		}), "liveness containerd of=exec what=exec-failed"},
		"and it had not begun": {of(withTimedSync, nothing, func(e *harness.Exec) { e.Payload = payload.Truth{} }), ""},
		"and its exit was never sent": {of(withTimedSync, func(h *harness.History) { drop(h, 4) }, says(0)),
			"event event of=exec event=missing topic=/tasks/exit"},
	})
}
