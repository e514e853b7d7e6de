package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
)

// Each row has an exit at 30 ms, while the harness was not subscribed. containerd was
// down from 31 to 41 ms, and the client was done after 10 s.
func TestSentAgain(t *testing.T) {
	unheard := func(h *harness.History) {
		drop(h, 2)
		h.Deaths = []daemon.Death{{At: at(31), Asked: true, BackIn: 10 * time.Millisecond}}
		h.Done, h.After.At, h.Hits[2].Time = at(10_000), at(10_001), at(5000)
	}
	accepted := func(err string, ms int) func(*harness.History) {
		return func(h *harness.History) {
			h.Hits = append(h.Hits, hit(forwarded, ms, func(h *failpoints.Hit) { h.ID, h.Err = "", err }))
		}
	}
	does := func(do term.Action, held time.Duration) func(*harness.History) {
		return func(h *harness.History) {
			h.Hits = append(h.Hits, hit(forwarding, 31, func(h *failpoints.Hit) { h.ID, h.Did, h.Held = "", do, held }))
		}
	}
	sends := func(err string, ms int) func(*harness.History) { return also(does(term.Off, 0), accepted(err, ms)) }
	const lost = "event event event=not-sent-again topic=/tasks/exit"
	later := func(h *harness.History) { // it serves another
		h.Hits = append(h.Hits, hit("rpc:shim:Task.State:entry", 4000, func(h *failpoints.Hit) { h.ID = "c1" }))
	}
	behind := func(h *harness.History) { // its delete, a second later
		unheard(h)
		exit := clean().Events[2]
		exit.Seen = at(1032)
		h.Events = append(h.Events, exit)
		h.Flushed.Events = len(h.Events)
	}
	inFirstUse := func(h *harness.History) { h.Flushed.Hits = len(h.Hits) }
	judged(t, map[string]row{
		"it could not, and does behind its delete": {also(behind, sends("ttrpc: closed", 31), inFirstUse), ""},
		"it could, and does behind its delete": {behind,
			"event event event=late topic=/tasks/exit after=/tasks/delete"},
		"its shim does not send it again":  {unheard, lost},
		"it could not, and does not again": {also(unheard, sends("ttrpc: closed", 31)), lost},
		"a pause held it meanwhile": {also(unheard, does(term.Pause, 20*time.Millisecond), accepted("ttrpc: closed", 51)),
			lost},
		"a pause held it until the end":     {also(unheard, does(term.Pause, 9*time.Second)), ""},
		"it hangs":                          {also(unheard, does(term.Hang, 0)), ""},
		"containerd took another, and died": {also(unheard, accepted("", 31)), lost},
		"containerd took it, and died":      {also(unheard, sends("", 31)), ""},
		"it takes it when it is back, and tells nobody": {also(unheard, sends("ttrpc: closed", 31), sends("", 1031)),
			lost},
		"it connects anew, and what it sends is another": {also(unheard, sends("ttrpc: closed", 31),
			sends("ttrpc: closed", 9900), sends("", 9901)), lost},
		"containerd refuses one, and takes another at once": {also(unheard, sends("ttrpc: closed", 31),
			sends("unavailable", 9900), sends("", 9901)), ""},
		"it cannot send what is late": {also(unheard, sends("ttrpc: closed", 31),
			sends("ttrpc: closed", 9900), sends("", 10_100)), ""},
		"somebody listens when it takes it": {also(unheard, sends("", 241)), lost},
		"perhaps nobody does yet":           {also(unheard, sends("", 240)), ""},
		"the shim was asked to exit":        {also(unheard, func(h *harness.History) { h.Hits[2].Time = at(1000) }), ""},
		"which it does not do for one of two": {also(unheard, func(h *harness.History) {
			h.Hits[2].Time = at(1000)
		}, later), lost},
		"which it was later": {also(unheard, func(h *harness.History) {
			h.Hits = append(h.Hits, hit(shutdownEntry, 3000, nil))
		}), lost},
		"the client was done before": {also(unheard, func(h *harness.History) { h.Done = at(1000) }), ""},
		"the shim was killed": {also(unheard, func(h *harness.History) { kill(h, "shim", 42) }),
			"residue socket residue=containerd-11292"},
		"its id is used again, by another shim": {also(unheard, func(h *harness.History) {
			h.Hits = append(h.Hits, hit(createEntry, 10_500, func(h *failpoints.Hit) { h.PID = 43 }))
		}), lost},
		"two shims have served it": {also(unheard, func(h *harness.History) {
			h.Hits = append([]failpoints.Hit{hit(createEntry, 4, func(h *failpoints.Hit) { h.PID = 43 })}, h.Hits...)
		}), ""},
		"it could send none of four, and does not again": {also(unheard, sends("ttrpc: closed", 31),
			sends("ttrpc: closed", 32), sends("ttrpc: closed", 33), sends("ttrpc: closed", 34),
			sends("ttrpc: closed", 1031), sends("ttrpc: closed", 1032), sends("ttrpc: closed", 1033)), lost},
		"containerd refuses the first": {refusedFirst(1), "event event event=not-sent-again topic=/tasks/create"},
		"it refuses it 6 times":        {refusedFirst(6), "event event event=missing topic=/tasks/create"},
		"it refuses it 5 times":        {refusedFirst(5), "event event event=not-sent-again topic=/tasks/create"},
		"containerd died later": {also(unheard, func(h *harness.History) {
			h.Deaths[0].At = at(2100)
			h.Hits = append(h.Hits, hit(forwarding, 35, nil), hit(forwarded, 35, func(h *failpoints.Hit) { h.ID = "" }))
		}), "event event event=missing topic=/tasks/exit"},
	})
}

// refusedFirst makes containerd refuse the create event this often. The event never
// arrives.
func refusedFirst(times int) func(*harness.History) {
	return func(h *harness.History) {
		drop(h, 0)
		h.Done, h.After.At = at(30_000), at(30_001)
		for n := range times {
			h.Hits = append(h.Hits, hit("rpc:shim:Events.Forward:entry", 11+1000*n*(n+1)/2, func(h *failpoints.Hit) {
				h.ID, h.Did = "", term.Error
			}))
		}
		h.Hits = append(h.Hits, hit(deleteExit, 20_000, nil))
	}
}
