package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// withPause has the container paused at 22 and resumed at 24.
func withPause(h *harness.History) {
	h.Instances[0].Spec.Pause = true
	h.Instances[0].Pause = &harness.Pause{Begun: at(21), Paused: at(22), Resumed: at(24), PausedAs: "PAUSED",
		ResumedAs: "RUNNING", Beat: at(25), Patience: time.Second}
	eventOf := func(topic string, ms int) event.Task {
		return event.Task{Namespace: "shimquake", Topic: topic, Container: "c0", Seen: at(ms)}
	}
	h.Events = append([]event.Task{h.Events[0], h.Events[1], eventOf(event.TopicPaused, 22),
		eventOf(event.TopicResumed, 24)}, h.Events[2:]...)
	h.Flushed.Events = len(h.Events)
}

func TestRulesOfPauses(t *testing.T) {
	with := func(change func(*harness.History, *harness.Pause)) func(*harness.History) {
		return func(h *harness.History) {
			withPause(h)
			change(h, h.Instances[0].Pause)
		}
	}
	judged(t, map[string]row{
		"a pause":               {withPause, ""},
		"one without any fault": {with(func(h *harness.History, _ *harness.Pause) { plain(h) }), ""},
		"it is called running": {with(func(_ *harness.History, p *harness.Pause) { p.PausedAs = "RUNNING" }),
			"liveness container what=state-as call=pause task=RUNNING"},
		"it goes on": {with(func(_ *harness.History, p *harness.Pause) { p.Beats = 5 }),
			"liveness container what=paused-runs"},
		"it stays paused, as it is called": {with(func(_ *harness.History, p *harness.Pause) { p.ResumedAs = "PAUSED" }),
			"liveness container what=state-as call=resume task=PAUSED"},
		"it stays paused": {with(func(_ *harness.History, p *harness.Pause) { p.Beat = time.Time{} }),
			"liveness container what=resumed-stands"},
		"and its shim was killed": {with(func(h *harness.History, p *harness.Pause) {
			kill(h, "shim", 42)
			p.Beat, p.ResumedAs = time.Time{}, "STOPPED"
		}), ""},
		"its pause has failed": {with(func(h *harness.History, p *harness.Pause) {
			p.Paused, p.PausedAs, p.Beats = time.Time{}, "", 0
			drop(h, 2)
		}), ""},
		"nobody says what it is called": {with(func(h *harness.History, p *harness.Pause) {
			plain(h)
			p.PausedAs = ""
		}), "liveness container what=state-as call=pause task=none"},
		"an exec is refused until it is resumed": {with(func(_ *harness.History, p *harness.Pause) {
			p.Exec = failed("Unknown", "cannot exec in a paused state")
		}), ""},
		"and after that, too": {with(func(_ *harness.History, p *harness.Pause) {
			p.Exec = failed("Unknown", "cannot exec in a paused state")
			p.ExecAgain = failed("AlreadyExists", "id paused")
		}), "liveness container what=exec-taken task=PAUSED"},
		"the exec that was added then is told of": {with(func(h *harness.History, _ *harness.Pause) {
			h.Events = append(h.Events, event.Task{Namespace: "shimquake", Topic: event.TopicExecAdded,
				Container: "c0", Exec: harness.ExecOfPaused, Seen: at(26)})
			h.Flushed.Events++
		}), ""},
		"its pause was never sent": {with(func(h *harness.History, _ *harness.Pause) { drop(h, 2) }),
			"event event event=missing topic=/tasks/paused"},
		"its resume was never sent": {with(func(h *harness.History, _ *harness.Pause) { drop(h, 3) }),
			"event event event=missing topic=/tasks/resumed"},
		"its pause was sent twice": {with(func(h *harness.History, _ *harness.Pause) {
			h.Events = append(h.Events[:3:3], h.Events[2:]...)
			h.Flushed.Events++
		}), "event event event=repeated topic=/tasks/paused"},
	})
}
