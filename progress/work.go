package progress

import (
	"context"
	"fmt"
	"time"

	"github.com/shimquake/shimquake/quote"
)

// Work is something that takes long. A nil one is reported nowhere: there is no Teller.
type Work struct {
	teller *Teller
	state
}

// state is how far work is.
type state struct {
	what        string
	unit        string // what is counted; "": nothing is
	done, total int    // total 0: nobody knows
	says        string // of what has come of it so far, or where it is
	began       time.Time
	until       time.Time // it ends then at the latest; zero: nobody knows
}

// Begin tells that work begins: what is done, and of how many units; 0 where nobody
// knows, and no unit where nothing is counted.
func Begin(ctx context.Context, what string, total int, unit string) *Work {
	t := from(ctx)
	if t == nil {
		return nil
	}
	w := &Work{teller: t, state: state{what: what, total: total, unit: unit, began: time.Now()}}
	t.add(w)
	return w
}

// Until says when the work ends at the latest.
func (w *Work) Until(end time.Time) { w.change(func(s *state) { s.until = end }) }

// Step counts a unit that is done; says is what came of all so far.
func (w *Work) Step(says string) { w.change(func(s *state) { s.done, s.says = s.done+1, says }) }

// Say tells where the work is.
func (w *Work) Say(says string) { w.change(func(s *state) { s.says = says }) }

// Left says how many units are still to be done, where that is known only on the way.
func (w *Work) Left(units int) { w.change(func(s *state) { s.total = s.done + units }) }

// End tells that the work is over.
func (w *Work) End() {
	if w != nil {
		w.teller.remove(w)
	}
}

func (w *Work) change(how func(*state)) {
	if w == nil {
		return
	}
	w.teller.mu.Lock()
	defer w.teller.mu.Unlock()
	how(&w.state)
}

// text is what is reported of it, in a line.
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
	if s.says != "" {
		text += ": " + s.says
	}
	return quote.Line(text)
}

// left is how long it still takes: by its rate, but not past its end.
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

// rate is one for people: in the unit of time in which it is one or more.
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

// short is a duration in whole seconds.
func short(d time.Duration) string { return d.Round(time.Second).String() }
