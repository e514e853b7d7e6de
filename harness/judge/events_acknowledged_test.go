package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
)

// containerdHas makes containerd receive the shim's response to Delete. asksToExit makes
// containerd ask the shim to exit after that.
const (
	containerdHas = "rpc:containerd:Task.Delete:exit"
	asksToExit    = "rpc:containerd:Task.Shutdown:entry"
)

// Each row has an exit and a delete that arrive again, at 45 ms. The shim responded to
// Delete at 36 ms, and containerd asks it to exit at 38 ms.
func TestToldAgain(t *testing.T) {
	passes := func(point string, ms int, change func(*failpoints.Hit)) func(*harness.History) {
		return func(h *harness.History) {
			pass := hit(point, ms, change)
			if pass.ParsedPoint().Who == "containerd" {
				pass.Who, pass.PID = "containerd", 9
			}
			h.Hits = append(h.Hits, pass)
			h.Flushed.Hits++
		}
	}
	again := func(topic int) func(*harness.History) {
		return func(h *harness.History) {
			e := h.Events[topic]
			e.Sent, e.Seen = at(45), at(45)
			h.Events = append(h.Events, e)
			h.Flushed.Events++
		}
	}
	exit, removal := again(2), again(3)
	failing := func(h *failpoints.Hit) { h.Err = "NotFound" }
	does := func(a term.Action) func(*failpoints.Hit) { return func(h *failpoints.Hit) { h.Did = a } }
	broken := does(term.Error)
	answers := passes(deleteExit, 36, nil)
	heard := also(answers, passes(containerdHas, 37, nil))
	asked := passes(asksToExit, 38, nil)
	knows := also(heard, asked)
	// with makes the shim respond as in a hit. containerd receives the response, and asks
	// the shim to exit.
	with := func(change func(*failpoints.Hit)) func(*harness.History) {
		return also(passes(deleteExit, 36, change), passes(containerdHas, 37, nil), asked)
	}
	const (
		known        = "known exit-repeated"
		removed      = "known delete-repeated"
		asksToDelete = "rpc:containerd:Task.Delete:entry"
		exitAgain    = "event event event=repeated topic=/tasks/exit repeat=already-reported"
		removalAgain = "event event event=repeated topic=/tasks/delete repeat=already-reported"
	)
	judged(t, map[string]row{
		"its exit, and it knows":            {also(knows, exit), exitAgain},
		"its removal, and it knows":         {also(knows, removal), removalAgain},
		"its exit, with no answer":          {also(asked, exit), known},
		"the shim has not done it":          {also(with(failing), exit), known},
		"the answer is broken":              {also(with(broken), exit), known},
		"the answer comes too late":         {also(answers, passes(containerdHas, 35, failing), asked, removal), removed},
		"the answer is not taken":           {also(answers, passes(containerdHas, 37, broken), asked, removal), removed},
		"the answer is lost from the begin": {also(passes(asksToDelete, 35, does(term.Lose)), knows, exit), known},
		"the call is slow":                  {also(passes(asksToDelete, 35, does(term.Delay)), knows, exit), exitAgain},
		"the call is held":                  {also(passes(asksToDelete, 35, does(term.Pause)), knows, exit), exitAgain},
		"an earlier answer is lost": {also(passes(asksToDelete, 32, does(term.Lose)), passes(asksToDelete, 35, nil),
			knows, exit), exitAgain},
		"it is asked for once more": {also(answers, passes(asksToDelete, 36, nil),
			passes(containerdHas, 37, nil), asked, exit), known},
		"it has not gone on yet": {also(heard, exit), known},
		"it goes on after that":  {also(heard, passes(asksToExit, 46, nil), exit), known},
		"noted in another order": {also(asked, heard, exit), exitAgain},
		"a statement lost the answer": {also(answers,
			passes("stmt:containerd:runtime.shimTask.delete:response", 36, broken),
			passes(containerdHas, 37, nil), asked, exit), known},
		"a statement of the shim has not": {also(
			passes("stmt:shim:runtime.shimTask.delete:response", 30, broken), knows, exit), exitAgain},
		"an exec was deleted":    {also(with(func(h *failpoints.Hit) { h.ExecID = "e" }), exit), known},
		"another was deleted":    {also(with(func(h *failpoints.Hit) { h.ID = "c1" }), exit), known},
		"the id is used again":   {also(knows, passes("rpc:containerd:Task.Create:entry", 44, nil), exit), known},
		"the id was used before": {also(passes("rpc:containerd:Task.Create:entry", 4, nil), knows, exit), exitAgain},
		"containerd was another": {also(knows, func(h *harness.History) {
			h.Hits[len(h.Hits)-1].PID = 10
		}, exit), known},
		"containerd died since": {also(knows, exit, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(41), Asked: true, BackIn: time.Millisecond}}
		}), known},
		"it died before": {also(knows, exit, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(1), Asked: true, BackIn: time.Millisecond}}
		}), exitAgain},
		"the shim sends it again": {also(knows, exit, func(h *harness.History) {
			h.Events[2].Sent, h.Events[4].Sent = at(39), at(39)
		}), known},
		"it says another status": {also(knows, exit, func(h *harness.History) { h.Events[4].Status = 137 }),
			"event event event=repeated topic=/tasks/exit repeat=other-status"},
	})
}
