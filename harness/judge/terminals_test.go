package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfTerminals(t *testing.T) {
	with := func(rows, cols int, change func(*harness.Instance)) func(*harness.History) {
		return func(h *harness.History) {
			i := &h.Instances[0]
			i.Resize = &harness.Resize{Rows: 33, Cols: 101, Done: at(22)}
			i.Payload.Rows, i.Payload.Cols = rows, cols
			change(i)
		}
	}
	nothing := func(*harness.Instance) {}
	const wrong = "liveness container what=window-size reported=33x101 true="
	judged(t, map[string]row{
		"as it was given":     {also(plain, with(33, 101, nothing)), ""},
		"the other way round": {also(plain, with(101, 33, nothing)), wrong + "101x33"},
		"as it was":           {also(plain, with(0, 0, nothing)), wrong + "0x0"},
		"after a fault":       {with(0, 0, nothing), ""},
		"nobody said that it was done": {
			also(plain, with(0, 0, func(i *harness.Instance) { i.Resize.Done = time.Time{} })), ""},
		"an exec's": {also(plain, withExec, func(h *harness.History) {
			h.Instances[0].Execs[0].Resize = &harness.Resize{Rows: 33, Cols: 101, Done: at(23)}
		}), wrong + "0x0 of=exec"},
	})
}
