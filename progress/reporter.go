package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"
)

// Work that takes less than soon is not reported. A terminal's line is rewritten each
// tick; elsewhere a line is printed at most once every minute.
const (
	soon  = 5 * time.Second
	every = time.Minute
	tick  = time.Second
)

// Reporter reports the work of a program: in one line of a terminal that is rewritten,
// elsewhere in one line a minute.
type Reporter struct {
	to  io.Writer
	bar *bar // nil without a terminal

	mu       sync.Mutex
	works    []*Work   // in progress, in the order in which they began
	reported time.Time // time of the last line
	stop     chan struct{}
}

// New returns a Reporter that writes to a file, which may be a terminal.
func New(to *os.File) *Reporter {
	t := &Reporter{to: to}
	if term.IsTerminal(int(to.Fd())) && os.Getenv("TERM") != "dumb" {
		t.bar = &bar{to: to, columns: func() int { return columnsOf(to) }}
	}
	return t
}

// key is the key of a context for its Reporter.
type key struct{}

// With returns a context in which work is reported by t.
func With(ctx context.Context, t *Reporter) context.Context { return context.WithValue(ctx, key{}, t) }

// hidden is the key of a context for [Beside].
type hidden struct{}

// Beside returns a context whose work is not reported, because it goes on beside other
// work. The reporter would show it in place of that.
func Beside(ctx context.Context) context.Context { return context.WithValue(ctx, hidden{}, true) }

func from(ctx context.Context) *Reporter {
	t, _ := ctx.Value(key{}).(*Reporter)
	return t
}

// Interrupt removes the line of a terminal while print writes something else.
func Interrupt(ctx context.Context, print func() error) error {
	t := from(ctx)
	if t == nil {
		return print()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bar.clear()
	return print()
}

// Writer returns a writer to w that removes the line of the terminal before each write.
func Writer(ctx context.Context, w io.Writer) io.Writer {
	if _, is := w.(interrupting); is || from(ctx) == nil {
		return w
	}
	return interrupting{ctx, w}
}

type interrupting struct {
	ctx context.Context
	to  io.Writer
}

func (a interrupting) Write(text []byte) (n int, err error) {
	err = Interrupt(a.ctx, func() (err error) {
		n, err = a.to.Write(text)
		return err
	})
	return n, err
}

func (t *Reporter) add(w *Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.works = append(t.works, w)
	if t.stop == nil {
		t.stop = make(chan struct{})
		go t.run(t.stop)
	}
}

func (t *Reporter) remove(w *Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.works = slices.DeleteFunc(t.works, func(other *Work) bool { return other == w }) // a second End finds nothing
	t.bar.clear()
	if len(t.works) == 0 && t.stop != nil {
		close(t.stop)
		t.stop = nil
	}
}

// run reports until no work is in progress.
func (t *Reporter) run(stop <-chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			t.report(time.Now())
		}
	}
}

// report shows the work that began last, of all work that has run for long enough. It
// ignores the errors of the output, because the work itself has not failed.
func (t *Reporter) report(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range slices.Backward(t.works) {
		if now.Sub(w.began) < soon {
			continue
		}
		switch {
		case t.bar != nil:
			t.bar.show(w, now)
		case t.reported.IsZero() || now.Sub(t.reported) >= every:
			t.reported = now
			_, _ = fmt.Fprintln(t.to, "shimquake: "+w.text(now))
		}
		return
	}
}
