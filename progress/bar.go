package progress

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// barWidth is that of the bar, and beside what stands around it: percentage and frame.
const (
	barWidth = 16
	beside   = 12
)

// bar is the line on a terminal. What a terminal refuses is no failure of the work.
type bar struct {
	to      io.Writer
	columns func() int
	of      *Work
	line    *progressbar.ProgressBar
}

// columnsOf is how wide a terminal is.
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
		_ = b.line.Set(min(w.done, w.total-1)) // one that is full would be over
	}
	b.line.Describe(text)
}

func (b *bar) draw(total int, text string) *progressbar.ProgressBar {
	if total == 0 {
		total = -1 // a wheel
	}
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(b.to), progressbar.OptionSetWidth(barWidth),
		progressbar.OptionSetDescription(text), progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetSpinnerChangeInterval(0))
}

// clear takes the line away.
func (b *bar) clear() {
	if b == nil || b.line == nil {
		return
	}
	_ = b.line.Clear()
	b.of, b.line = nil, nil
}

// room is how many columns there are for the text: a line that is broken in two cannot be
// rewritten.
func (b *bar) room() int { return b.columns() - barWidth - beside }

// clip is a text of so many characters at most.
func clip(text string, room int) string {
	all := []rune(text)
	if len(all) <= room {
		return text
	}
	return string(all[:max(room-1, 0)]) + "…"
}
