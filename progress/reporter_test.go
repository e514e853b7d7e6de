package progress

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shimquake/shimquake/must"
)

// reported returns the output without a terminal while work runs.
func reported(t *testing.T, work func(context.Context)) (out string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var to bytes.Buffer
		reporter := &Reporter{to: &to}
		work(With(t.Context(), reporter))
		synctest.Wait() // the test fails here if run has not returned
		out = to.String()
	})
	return out
}

func TestLines(t *testing.T) {
	for name, tt := range map[string]struct {
		work func(context.Context)
		want string
	}{
		"nothing of what takes under 5 s": {func(ctx context.Context) {
			for range 100 {
				w := Begin(ctx, "short", 1, "cases")
				pass(soon - time.Millisecond)
				w.End()
			}
		}, ""},
		"a line a minute, also where no step is done": {func(ctx context.Context) {
			w := Begin(ctx, "a case", 1, "cases")
			pass(130 * time.Second)
			w.Step("held")
			w.End()
		}, "shimquake: a case: 0 of 1 cases in 5s\n" +
			"shimquake: a case: 0 of 1 cases in 1m5s\n" +
			"shimquake: a case: 0 of 1 cases in 2m5s\n"},
		"a line a minute, however much goes on": {func(ctx context.Context) {
			for i := range 9 {
				w := Begin(ctx, fmt.Sprintf("w%d", i), 0, "")
				pass(10*time.Second + time.Millisecond)
				w.End()
			}
		}, "shimquake: w0 for 5s\nshimquake: w6 for 5s\n"},
		"the last of those that go on for 5 s": {func(ctx context.Context) {
			outer := Begin(ctx, "outer", 0, "")
			pass(30250 * time.Millisecond)
			inner := Begin(ctx, "inner", 0, "")
			pass(33 * time.Second)
			young := Begin(ctx, "young", 0, "")
			pass(4 * time.Second)
			for _, w := range []*Work{young, inner, inner} { // twice, as with a defer
				w.End()
			}
			pass(60 * time.Second)
			outer.End()
		}, "shimquake: outer for 5s\nshimquake: inner for 35s\nshimquake: outer for 2m5s\n"},
		"rate and time left": {func(ctx context.Context) {
			w := Begin(ctx, "run", 0, "cases")
			w.SetRemaining(300)
			for range 300 {
				pass(time.Second / 4)
				w.Step("all held")
				pass(time.Second / 4) // a tick is never at the time of a step
			}
			w.End()
		}, "shimquake: run: 10 of 300 cases in 5s, 2.0 a second, 2m25s left: all held\n" +
			"shimquake: run: 130 of 300 cases in 1m5s, 2.0 a second, 1m25s left: all held\n" +
			"shimquake: run: 250 of 300 cases in 2m5s, 2.0 a second, 25s left: all held\n"},
	} {
		t.Run(name, func(t *testing.T) {
			must.Equal(t, reported(t, tt.work), tt.want, "reported")
		})
	}
}

// Work beside other work takes no line.
func TestBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to bytes.Buffer
		ctx := With(t.Context(), &Reporter{to: &to})
		main := Begin(ctx, "a sweep", 3, "cases")
		other := Begin(Beside(ctx), "replays", 3, "runs")
		pass(2 * soon)
		other.Step("")
		other.End()
		main.End()
		if text := to.String(); !strings.Contains(text, "a sweep") || strings.Contains(text, "replays") {
			t.Error(text)
		}
	})
}

// Without a Reporter nothing is reported, and nothing fails.
func TestWithoutAReporter(t *testing.T) {
	w := Begin(t.Context(), "work", 1, "cases")
	w.Until(time.Now())
	w.SetStep("x")
	w.SetRemaining(3)
	w.Step("y")
	w.End()
	var to bytes.Buffer
	must.Equal(t, any(Writer(t.Context(), &to)), any(&to), "the writer must be unchanged")
	err := Interrupt(t.Context(), func() error { return context.Canceled })
	must.Is(t, err, context.Canceled)
}

// A writer that is wrapped twice does not wait for itself.
func TestWriterTwice(t *testing.T) {
	var to bytes.Buffer
	ctx := With(t.Context(), &Reporter{to: &to})
	if n, err := fmt.Fprint(Writer(ctx, Writer(ctx, &to)), "text"); n != 4 || err != nil || to.String() != "text" {
		t.Errorf("%d, %v, %q", n, err, to.String())
	}
}

// pass moves the clock of synctest forward.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // no real time passes
