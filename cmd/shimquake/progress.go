package main

import (
	"fmt"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/shimquake/shimquake/harness"
)

// progress is a bar on the terminal's stderr; elsewhere it is quiet.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(total int) *progress {
	if total < 2 || !term.IsTerminal(int(os.Stderr.Fd())) {
		return &progress{}
	}
	return &progress{
		bar: progressbar.NewOptions(
			total,
			progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("cases"),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(24),
		),
	}
}

// clear takes the bar away before something else is printed. What a terminal refuses is
// no failure of the run.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func (p *progress) step(tally map[harness.Outcome]int) {
	if p.bar != nil {
		p.bar.Describe(
			fmt.Sprintf(
				"%d held, %d violated, %d invalid",
				tally[harness.Held],
				tally[harness.Violated],
				tally[harness.Invalid],
			),
		)
		_ = p.bar.Add(1)
	}
}
