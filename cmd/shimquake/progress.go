package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress tells how far a run of many cases is: a bar with rate and time left where
// stderr is a terminal, and a line a minute elsewhere.
type progress struct {
	total, done int
	what        string    // what came of those that are done
	began, told time.Time // the start, and the last line
	to          io.Writer
	bar         *progressbar.ProgressBar
	now         func() time.Time
}

// toldEvery is how often a line is told.
const toldEvery = time.Minute

func newProgress(total int) *progress {
	p := &progress{total: total, to: os.Stderr, now: time.Now}
	p.began = p.now()
	p.told = p.began
	if total > 1 && term.IsTerminal(int(os.Stderr.Fd())) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("cases"),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24))
	}
	return p
}

// clear takes the bar away before something else is printed. What a terminal refuses is
// no failure of the run.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// step counts a case; what says what came of all so far.
func (p *progress) step(what string) {
	p.done, p.what = p.done+1, what
	if p.bar != nil {
		p.bar.Describe(what)
		_ = p.bar.Add(1)
		return
	}
	if now := p.now(); now.Sub(p.told) >= toldEvery && p.done < p.total {
		p.told = now
		_, _ = fmt.Fprintln(p.to, p.line(now))
	}
}

// line is what is told where there is no terminal.
func (p *progress) line(now time.Time) string {
	rate := float64(p.done) / now.Sub(p.began).Seconds()
	left := time.Duration(float64(p.total-p.done) / rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d of %d cases, %.1f a second, %s left: %s", p.done, p.total, rate, left, p.what)
}
