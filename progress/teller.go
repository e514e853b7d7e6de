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

// What takes less than soon is not reported. Where there is no terminal a line is
// reported every so often at most, whatever goes on; on one it is written anew each tick.
const (
	soon  = 5 * time.Second
	every = time.Minute
	tick  = time.Second
)

// Teller tells of the work of a program: on a terminal by one line that is rewritten,
// elsewhere by a line a minute.
type Teller struct {
	to  io.Writer
	bar *bar // nil where there is no terminal

	mu       sync.Mutex
	works    []*Work   // that go on, in the order in which they began
	reported time.Time // when the last line was
	stop     chan struct{}
}

// New is a Teller that writes to a file, which may be a terminal.
func New(to *os.File) *Teller {
	t := &Teller{to: to}
	if term.IsTerminal(int(to.Fd())) && os.Getenv("TERM") != "dumb" {
		t.bar = &bar{to: to, columns: func() int { return columnsOf(to) }}
	}
	return t
}

// Lines is a Teller of lines, also where there is a terminal: one that somebody else
// draws on.
func Lines(to io.Writer) *Teller { return &Teller{to: to} }

// key is a Teller's in a context.
type key struct{}

// With is a context in which work is reported by t.
func With(ctx context.Context, t *Teller) context.Context { return context.WithValue(ctx, key{}, t) }

func from(ctx context.Context) *Teller {
	t, _ := ctx.Value(key{}).(*Teller)
	return t
}

// Aside does what prints something else, while the line is away.
func Aside(ctx context.Context, print func() error) error {
	t := from(ctx)
	if t == nil {
		return print()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bar.clear()
	return print()
}

// Above is a writer to the same as w, which takes the line away first.
func Above(ctx context.Context, w io.Writer) io.Writer {
	if _, is := w.(above); is || from(ctx) == nil {
		return w
	}
	return above{ctx, w}
}

type above struct {
	ctx context.Context
	to  io.Writer
}

func (a above) Write(text []byte) (n int, err error) {
	err = Aside(a.ctx, func() (err error) {
		n, err = a.to.Write(text)
		return err
	})
	return n, err
}

func (t *Teller) add(w *Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.works = append(t.works, w)
	if t.stop == nil {
		t.stop = make(chan struct{})
		go t.run(t.stop)
	}
}

func (t *Teller) remove(w *Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.works = slices.DeleteFunc(t.works, func(other *Work) bool { return other == w }) // none the second time
	t.bar.clear()
	if len(t.works) == 0 && t.stop != nil {
		close(t.stop)
		t.stop = nil
	}
}

// run tells until nothing goes on.
func (t *Teller) run(stop <-chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			t.tell(time.Now())
		}
	}
}

// tell tells of what began last of all that goes on for long enough. What cannot be
// written is no failure of the work.
func (t *Teller) tell(now time.Time) {
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
