package progress

import (
	"context"
	"fmt"
	"time"

	"github.com/shimquake/shimquake/quote"
)

// Work is the progress of work that takes long. A nil Work reports nothing. Begin
// returns nil if the context has no Reporter.
type Work struct {
	reporter *Reporter
	state
}

// state is how far the work is.
type state struct {
	what        string
	unit        string // of the things that are counted; "": nothing is counted
	done, total int    // total 0: unknown
	step        string // the result so far, or the current step
	began       time.Time
	until       time.Time // latest end; zero: unknown
}

// Begin reports that work begins. A total of 0 is unknown, and without a unit nothing is
// counted.
func Begin(ctx context.Context, what string, total int, unit string) *Work {
	t := from(ctx)
	if t == nil || ctx.Value(hidden{}) != nil {
		return nil
	}
	w := &Work{reporter: t, state: state{what: what, total: total, unit: unit, began: time.Now()}}
	t.add(w)
	return w
}

// Until sets the latest end of the work.
func (w *Work) Until(end time.Time) { w.change(func(s *state) { s.until = end }) }

// Step counts a unit that is done; result is that of all units so far.
func (w *Work) Step(result string) { w.change(func(s *state) { s.done, s.step = s.done+1, result }) }

// SetStep sets the current step of the work.
func (w *Work) SetStep(step string) { w.change(func(s *state) { s.step = step }) }

// SetRemaining sets how many units are still to be done. It is for work whose size
// becomes known only during the work.
func (w *Work) SetRemaining(units int) { w.change(func(s *state) { s.total = s.done + units }) }

// End reports that the work is over.
func (w *Work) End() {
	if w != nil {
		w.reporter.remove(w)
	}
}

func (w *Work) change(how func(*state)) {
	if w == nil {
		return
	}
	w.reporter.mu.Lock()
	defer w.reporter.mu.Unlock()
	how(&w.state)
}

// text returns the line that is reported.
func (s state) text(now time.Time) string {
	took := now.Sub(s.began)
	var text string
	switch {
	case s.unit == "":
		text = fmt.Sprintf("%s for %s", s.what, short(took))
	case s.total == 0:
		text = fmt.Sprintf("%s: %d %s in %s", s.what, s.done, s.unit, short(took))
	default:
		text = fmt.Sprintf("%s: %d of %d %s in %s", s.what, s.done, s.total, s.unit, short(took))
	}
	if s.done > 0 {
		text += ", " + rate(float64(s.done)/took.Seconds())
	}
	if left, known := s.left(now); known {
		text += ", " + short(left) + " left"
	}
	if s.step != "" {
		text += ": " + s.step
	}
	return quote.Line(text)
}

// left returns how long the work still takes: by its rate, but not past its latest end.
func (s state) left(now time.Time) (left time.Duration, known bool) {
	if s.total > 0 && s.done > 0 {
		each := now.Sub(s.began) / time.Duration(s.done)
		left, known = each*time.Duration(max(s.total-s.done, 0)), true
	}
	if s.until.IsZero() {
		return left, known
	}
	end := max(s.until.Sub(now), 0)
	if !known {
		return end, true
	}
	return min(left, end), true
}

// rate formats a rate in the unit of time in which it is at least one.
func rate(perSecond float64) string {
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"a second", 1}, {"a minute", 60}} {
		if n := perSecond * unit.seconds; n >= 1 {
			return fmt.Sprintf("%.1f %s", n, unit.name)
		}
	}
	return fmt.Sprintf("%.1f an hour", perSecond*3600)
}

// short formats a duration in whole seconds.
func short(d time.Duration) string { return d.Round(time.Second).String() }
