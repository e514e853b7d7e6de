package progress

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// A terminal shows one line that fits, is rewritten each second, and is gone afterwards.
func TestLineOnATerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		columns, total int
		want           string
	}{
		"a bar":    {120, 10, "run: 6 of 10 cases in 6s, 1.0 a second, 4s left: all held"},
		"narrow":   {60, 10, "run: 6 of 10 cases in 6s, 1.0 a…"},
		"a wheel":  {120, 0, "run: 6 cases in 6s, 1.0 a second: all held"},
		"too soon": {120, 10, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var to bytes.Buffer
				reporter := &Reporter{to: &to, bar: &bar{to: &to, columns: func() int { return tt.columns }}}
				w := Begin(With(t.Context(), reporter), "run", tt.total, "cases")
				for i := range 6 {
					if tt.want == "" && i == 4 {
						break
					}
					pass(time.Second / 2)
					w.Step("all held")
					pass(time.Second / 2)
				}
				pass(time.Millisecond) // the tick of that second
				w.End()
				checkLine(t, to.String(), tt.columns, tt.want)
			})
		})
	}
}

func checkLine(t *testing.T, out string, columns int, want string) {
	t.Helper()
	if want == "" && out != "" || !strings.Contains(out, want) || strings.Contains(out, "\n") {
		t.Errorf("%q, want %q in one line", out, want)
	}
	lines := strings.Split(out, "\r")
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > columns {
			t.Errorf("%d columns of %d: %q", n, columns, line)
		}
	}
	if last := lines[len(lines)-1]; strings.TrimSpace(last) != "" {
		t.Errorf("it leaves %q", last)
	}
}
