package client

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// A log has the times at which containerd read the lines: not before they were written,
// and in the order of each stream.
func TestReadLog(t *testing.T) {
	const ms = int64(time.Millisecond)
	of := func(stream string, at int64, tag string, n int, written int64) string {
		return time.Unix(0, at*ms).UTC().Format(time.RFC3339Nano) + " " + stream + " " + tag + " " +
			strconv.Itoa(n) + map[string]string{"stdout": " t=", "stderr": " e="}[stream] +
			strconv.FormatInt(written*ms, 10) + "\n"
	}
	line := func(at int64, tag string, n int, written int64) string { return of("stdout", at, tag, n, written) }
	for name, tc := range map[string]struct {
		text                    string
		misdated, foreign, last int
	}{
		"its times":        {line(1001, "F", 1, 1000) + line(1101, "F", 2, 1100), 0, 0, 2},
		"read late":        {line(5000, "F", 1, 1000) + line(5000, "F", 2, 1100), 0, 0, 2},
		"one time for all": {line(1001, "F", 1, 1000) + line(1001, "F", 2, 1100), 1, 0, 2},
		"back in time":     {line(3000, "F", 1, 1000) + line(2999, "F", 2, 1100), 1, 0, 2},
		"two streams": {line(3000, "F", 1, 1000) + of("stderr", 2999, "F", 1, 1000) +
			of("stderr", 3000, "F", 2, 1000), 0, 0, 1},
		"of a time to come":      {line(10_051, "F", 1, 1000), 1, 0, 1},
		"a line that was cut":    {line(1001, "P", 1, 1000), 0, 0, 0},
		"a line but its newline": {line(1001, "P", 2, 1000), 0, 1, 0},
		"an empty line": {line(1001, "F", 1, 1000) + time.Unix(2, 0).UTC().Format(time.RFC3339Nano) + " stdout F \n",
			0, 1, 1},
		"a part that is lost":      {line(1001, "P", 1, 1000) + line(1002, "F", 2, 1001), 0, 1, 0},
		"a line without its times": {"stdout F 1 t=5\n", 0, 1, 0},
	} {
		out := ReadLog(time.Unix(0, 10_000*ms), tc.text)
		if got := out.Stdout; got.Misdated != tc.misdated || got.Foreign != tc.foreign || got.Last != tc.last {
			t.Errorf("%s: %d lines, %d with a wrong time and %d foreign, want %d, %d and %d",
				name, got.Last, got.Misdated, got.Foreign, tc.last, tc.misdated, tc.foreign)
		}
		if got, want := out.Stderr.Last, strings.Count(tc.text, "stderr"); got != want || out.Stderr.Misdated > 0 {
			t.Errorf("%s: %d lines of stderr, want %d: %+v", name, got, want, out.Stderr)
		}
	}
}

// A part of the next line at the end of an output is a cut line. Any other text without a
// newline is foreign.
func TestLineThatIsCutOff(t *testing.T) {
	const before = "1 e=1\n"
	for text, cut := range map[string]bool{
		"": false, "2": true, "2 e": true, "2 e=": true, "2 e=17": true,
		"3": false, "2 t": false, "2 e=1a": false, "2 e=17 x": false, "bad": false, "2 e=17 x\n": false,
	} {
		got := ReadLines("", before+text).Stderr
		foreign := 0
		if !cut && text != "" {
			foreign = 1
		}
		if got.Cut != cut || got.Foreign != foreign || got.Last != 1 {
			t.Errorf("%q: %+v, want cut %t, %d foreign", text, got, cut, foreign)
		}
	}
}

// A terminal ends each line of both streams with CR and LF.
func TestReadTerminal(t *testing.T) {
	output := func(last, foreign int) harness.Output {
		o := harness.Output{Last: last, Foreign: foreign}
		if last > 0 {
			o.LastAt = time.Unix(0, int64(last))
		}
		return o
	}
	for name, tc := range map[string]struct {
		text           string
		stdout, stderr harness.Output
	}{
		"both":           {"1 t=1\r\n2 t=2\r\n1 e=1\r\n", output(2, 0), output(1, 0)},
		"without a CR":   {"1 t=1\n", output(0, 1), output(0, 0)},
		"one too many":   {"1 t=1\r\r\n", output(0, 1), output(0, 0)},
		"one is cut off": {"1 t=1\r\n1 e=1\r", output(1, 1), output(0, 0)},
		"foreign":        {"bad\r\n", output(0, 1), output(0, 0)},
	} {
		if diff := cmp.Diff(harness.Outputs{Stdout: tc.stdout, Stderr: tc.stderr}, ReadTerminal(tc.text)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestReadTerminalLog(t *testing.T) {
	const at = "1970-01-01T00:00:01Z "
	output := func(last int, foreign, misdated int) harness.Output {
		o := harness.Output{Last: last, Foreign: foreign, Misdated: misdated}
		if last > 0 {
			o.LastAt = time.Unix(0, int64(last))
		}
		return o
	}
	for name, tc := range map[string]struct {
		text           string
		stdout, stderr harness.Output
	}{
		"both": {at + "stdout F 1 t=1\n" + at + "stdout F 1 e=1\n" + at + "stdout F 2 t=2\n",
			output(2, 0, 0), output(1, 0, 0)},
		"with a CR":       {at + "stdout F 1 t=1\r\n", output(0, 1, 0), output(0, 0, 0)},
		"another stream":  {at + "stderr F 1 t=1\n", output(0, 0, 0), output(0, 1, 0)},
		"without a time":  {"x stdout F 1 t=1\n", output(1, 0, 1), output(0, 0, 0)},
		"without a stamp": {"1 e=1\n", output(0, 1, 0), output(0, 0, 0)},
		"one word":        {"x\n", output(0, 1, 0), output(0, 0, 0)},
		"nothing":         {"\n", output(0, 1, 0), output(0, 0, 0)},
	} {
		got := ReadTerminalLog(time.Unix(2, 0), tc.text)
		if diff := cmp.Diff(harness.Outputs{Stdout: tc.stdout, Stderr: tc.stderr}, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
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

func TestReadLines(t *testing.T) {
	at := func(ns int64) time.Time { return time.Unix(0, ns) }
	for name, tc := range map[string]struct {
		text string
		want harness.Output
	}{
		"nothing": {"", harness.Output{}},
		"all":     {"1 t=5\n2 t=6\n", harness.Output{Last: 2, LastAt: at(6)}},
		"the first": {"2 t=6\n", harness.Output{
			Last: 2, LastAt: at(6), Holes: []harness.MissingLines{{From: 1, To: 1, Before: at(6)}}}},
		"some": {"1 t=5\n4 t=8\n", harness.Output{
			Last: 4, LastAt: at(8), Holes: []harness.MissingLines{{From: 2, To: 3, After: at(5), Before: at(8)}}}},
		"with an empty one": {"1 t=5\n\n2 t=6\n", harness.Output{Last: 2, LastAt: at(6), Foreign: 1}},
		"twice":             {"1 t=5\n2 t=6\n1 t=5\n", harness.Output{Last: 2, LastAt: at(6), Repeated: 1}},
		"cut off":           {"1 t=5\n2 t=", harness.Output{Last: 1, LastAt: at(5), Cut: true}},
		"half a number":     {"1 t=5\n2 t=6", harness.Output{Last: 1, LastAt: at(5), Cut: true}},
		"of another":        {"1 e=5\n", harness.Output{Foreign: 1}},
		"a complaint":       {"payload: no\n1 t=5\n", harness.Output{Last: 1, LastAt: at(5), Foreign: 1}},
	} {
		if diff := cmp.Diff(tc.want, ReadLines(tc.text, "").Stdout); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}
