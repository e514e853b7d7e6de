package client

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// TestRead reads outputs of both streams, a terminal's, and their logs by CRI. A log has
// the times at which containerd read the lines.
func TestRead(t *testing.T) {
	local := time.Local
	time.Local = time.UTC // to print times as on every machine
	t.Cleanup(func() { time.Local = local })
	for name, read := range map[string]func(text string) harness.Outputs{
		"stdout":       func(text string) harness.Outputs { return ReadLines(text, "") },
		"stderr":       func(text string) harness.Outputs { return ReadLines("", text) },
		"log":          func(text string) harness.Outputs { return ReadLog(time.Unix(10, 0), text) },
		"terminal":     ReadTerminal,
		"terminal-log": func(text string) harness.Outputs { return ReadTerminalLog(time.Unix(2, 0), text) },
	} {
		must.Table(t, "testdata/"+name+".txt", func(text string) string {
			return string(must.Get(json.Marshal(read(text)))(t))
		})
	}
}

// The lines of a rotated log are in order, even if the times of its two writers overlap.
func TestRotatedLog(t *testing.T) {
	stamp := func(s int64) string { return time.Unix(s, 0).UTC().Format(time.RFC3339Nano) }
	line := func(logged int64, n int, written int64) string {
		return stamp(logged) + " stdout F " + strconv.Itoa(n) + " t=" + strconv.FormatInt(written*1e9, 10) + "\n"
	}
	old, other := line(11, 1, 10)+line(21, 2, 20), line(20, 3, 20)+line(31, 4, 30)
	if got := ReadLog(time.Unix(40, 0), old, other).Stdout; got.Last != 4 || got.Misdated+got.Repeated+got.Foreign > 0 {
		t.Errorf("%+v", got)
	}
	for at, want := range map[int64]int{9: 2, 10: 1, 20: 0} {
		must.Equal(t, LogsAfter(time.Unix(at, 0), old), want, "lines after seconds", at)
	}
}
