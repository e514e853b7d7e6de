package progress

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// The columns of the bar itself, and of the percentage and the frame around it.
const (
	barWidth = 16
	beside   = 12
)

// bar is the line on a terminal. It ignores the errors of the terminal, because the
// work itself has not failed.
type bar struct {
	to      io.Writer
	columns func() int
	of      *Work
	line    *progressbar.ProgressBar
}

// columnsOf returns the width of a terminal, or 80.
func columnsOf(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80
	}
	return columns
}

func (b *bar) show(w *Work, now time.Time) {
	text := clip(w.text(now), b.room())
	if b.of != w || b.line == nil {
		b.clear()
		b.of, b.line = w, b.draw(w.total, text)
	}
	if w.total > 0 {
		if b.line.GetMax() != w.total {
			b.line.ChangeMax(w.total)
		}
		_ = b.line.Set(min(w.done, w.total-1)) // a full bar would end itself
	}
	b.line.Describe(text)
}

func (b *bar) draw(total int, text string) *progressbar.ProgressBar {
	if total == 0 {
		total = -1 // a spinner
	}
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(b.to), progressbar.OptionSetWidth(barWidth),
		progressbar.OptionSetDescription(text), progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetSpinnerChangeInterval(0))
}

// clear removes the line from the terminal.
func (b *bar) clear() {
	if b == nil || b.line == nil {
		return
	}
	_ = b.line.Clear()
	b.of, b.line = nil, nil
}

// room returns how many columns are left for the text: a line that wraps cannot be
// rewritten.
func (b *bar) room() int { return b.columns() - barWidth - beside }

// clip shortens a text to at most so many characters.
func clip(text string, room int) string {
	all := []rune(text)
	if len(all) <= room {
		return text
	}
	return string(all[:max(room-1, 0)]) + "…"
}
