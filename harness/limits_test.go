package harness

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A case that would exhaust the machine's memory or take too long is refused, and the
// error names the limit.
func TestCasesAreBounded(t *testing.T) {
	n := strings.Repeat
	for name, tt := range map[string]struct{ text, says string }{
		"open lists":          {"name: " + n("[", 9000), "deeper than 64 levels"},
		"open mappings":       {"name: " + n("{a: ", 2000), "deeper than 64 levels"},
		"lists on a line":     {n("- ", 4000) + "x", "deeper than 64 levels"},
		"keys on a line":      {n("? ", 4000) + "x", "deeper than 64 levels"},
		"mappings in lines":   {nested(200), "deeper than 64 levels"},
		"the example":         {"name: " + n("[", 100_000), "more than 10000 words"},
		"closed lists":        {"name: " + n("[", 4000) + n("]", 4000), "deeper than 64 levels"},
		"a long file":         {"name: x\nabout: " + n("x", 300_000), "larger than 262144 bytes"},
		"unknown keys":        {unknownKeys(3000), "only the first 20 are reported"},
		"very many keys":      {unknownKeys(20_000), "more than 10000 words"},
		"unknown keys deeper": {"name: x\nworkload: {containers: [" + n("{k: 1},", 1000) + "]}", "only the first"},
		"an alias":            {"name: &n x\nabout: *n\n", "anchors and aliases"},
		"a power of aliases":  {aliases(), "anchors and aliases"},
		"a merge":             {"name: x\n<<: {about: x}\n", "anchors and aliases"},
		"containers":          {"name: x\nworkload:\n containers: [" + n("{},", 3000) + "]", "3000 containers: at most 100"},
		"faults":              {"name: x\nplan: [" + n("{at: x},", 1000) + "]", "1000 faults: at most 100"},
		"steps":               {"name: x\nplan: [{at: x, meanwhile: [" + n("x,", 1000) + "]}]", "1000 steps: at most 100"},
		"bugs":                {"name: x\nbugs: [" + n("x,", 1000) + "]", "1000 bugs: at most 100"},
		"rounds":              {"name: x\nworkload: {api: cri, script: [repeat 1000 create c0]}", "a number from 1 to 100"},
		"lines":               {"name: x\nworkload: {containers: [{lines: 1000000000}]}", "1000000000: use 1 to 20000"},
		"stdin":               {"name: x\nworkload: {containers: [{stdin: 1000000000}]}", "1000000000: use 1 to 20000"},
		"children":            {"name: x\nworkload: {containers: [{children: 1000000000}]}", "1000000000: use 1 to 100"},
		"memory":              {"name: x\nworkload: {containers: [{memory: 1000000000}]}", "16 to 256 MiB"},
		"an hour":             {"name: x\nworkload: {timeLimit: 1000000h}", "timeLimit 1000000h0m0s: at most 1h"},
		"a call":              {"name: x\nworkload: {callTimeout: 2h}", "callTimeout 2h0m0s: at most 1h"},
		"settle":              {"name: x\nworkload: {settle: 2h}", "settle 2h0m0s: at most 1h"},
		"a disk": {"name: x\nplan: [{at: 'io:root:running', do: '1*pressure(4MiB/s,2000000GiB)'}]",
			"at most 1GiB"},
		"a late shim": {"name: x\nworkload: {fakeshim: 'start=late(1000h)'}", "up to 1h"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ParseCase("x.yaml", []byte(tt.text))
			runtime.ReadMemStats(&after)
			var in *InputError
			if err == nil || !errors.As(err, &in) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%.300v; want %q", err, tt.says)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
				t.Errorf("it took %d MiB", took)
			}
			if err != nil && len(err.Error()) > 10_000 {
				t.Errorf("its error has %d bytes", len(err.Error()))
			}
		})
	}
}

func nested(levels int) string {
	var b strings.Builder
	for n := range levels {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", n))
	}
	return b.String()
}

func unknownKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "key%d: 1\n", i)
	}
	return b.String()
}

// aliases returns a text of nine lines that expands to a thousand million values.
func aliases() string {
	text := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		text += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	return text
}
