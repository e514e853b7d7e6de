package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/shimquake/shimquake/harness"
)

// every is how often progress is told where there is no terminal: a log is read later.
const every = time.Minute

// lines tells of progress in lines, with rate and time left.
type lines struct {
	began, last time.Time
	done, total int
}

// step counts one, and returns what is to be told of it now; "" most of the time.
func (l *lines) step(now time.Time, says string) string {
	if l.done++; now.Sub(l.last) < every || l.done == l.total {
		return ""
	}
	l.last = now
	rate := float64(l.done) / now.Sub(l.began).Seconds()
	left := time.Duration(float64(l.total-l.done) / rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("shimquake: %d of %d cases, %.1f/s, %s left: %s", l.done, l.total, rate, left, says)
}

func newLines(total int) *lines {
	now := time.Now()
	return &lines{began: now, last: now, total: total}
}

// progress is a bar on the terminal's stderr; elsewhere it is a line a minute.
type progress struct {
	bar   *progressbar.ProgressBar
	lines *lines
}

func newProgress(total int) *progress {
	p := &progress{lines: newLines(total)}
	if total < 2 || !term.IsTerminal(int(os.Stderr.Fd())) {
		return p
	}
	p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), progressbar.OptionSetItsString("cases"), progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24))
	return p
}

// clear takes the bar away before something else is printed. What a terminal refuses is
// no failure of the run.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func (p *progress) step(tally map[harness.Outcome]int) {
	p.tell(fmt.Sprintf("%d held, %d violated, %d invalid", tally[harness.Held], tally[harness.Violated],
		tally[harness.Invalid]))
}

// tell counts one case.
func (p *progress) tell(says string) {
	if p.bar == nil {
		if line := p.lines.step(time.Now(), says); line != "" {
			fmt.Fprintln(os.Stderr, line)
		}
		return
	}
	p.bar.Describe(says)
	_ = p.bar.Add(1)
}

// coloured is text with its first word in the colour of a verdict, where out is a
// terminal and NO_COLOR is not set (no-color.org).
func coloured(out io.Writer, o harness.Outcome, text string) string {
	f, isFile := out.(*os.File)
	if !isFile || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return text
	}
	code := map[harness.Outcome]string{harness.Held: "32", harness.Violated: "1;31", harness.Invalid: "33"}[o]
	rest, ok := strings.CutPrefix(text, string(o))
	if !ok || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + string(o) + "\x1b[0m" + rest
}
