package main

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/shimquake/shimquake/repro/search"
)

// searchProgress is a bar of the time that a search has; where stderr is no terminal it
// is a line every half a minute.
type searchProgress struct {
	bar   *progressbar.ProgressBar
	began time.Time
	limit time.Duration
	told  time.Time
}

const lineEvery = 30 * time.Second

func (p *searchProgress) step(s search.Progress) {
	now := time.Now()
	if p.began.IsZero() {
		p.began, p.told = now, now
		if term.IsTerminal(int(os.Stderr.Fd())) {
			p.bar = progressbar.NewOptions(int(p.limit.Seconds()), progressbar.OptionSetWriter(os.Stderr),
				progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24), progressbar.OptionSetPredictTime(false))
		}
	}
	text := fmt.Sprintf("%d of %d cases, %d near; %s", s.Done, s.Planned, s.Near, s.At)
	if p.bar != nil {
		p.bar.Describe(text)
		_ = p.bar.Set(min(int(now.Sub(p.began).Seconds()), int(p.limit.Seconds()))) // what a terminal refuses is no failure
		return
	}
	if now.Sub(p.told) >= lineEvery {
		p.told = now
		fmt.Fprintf(os.Stderr, "searching for %s: %s\n", now.Sub(p.began).Round(time.Second), text)
	}
}

// clear takes the bar away before something else is printed.
func (p *searchProgress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
