package bisect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Params say what is searched. Revisions are numbered in their order, from 0; the first
// and the last are the ends.
type Params struct {
	Revisions int
	// OldIsBad says which end is bad.
	OldIsBad bool
	// Doubtful are revisions of which it is not known whether they exist; they are tried
	// when no others are left. Default: none.
	Doubtful func(rev int) bool
	// Confidence that the answer is right, as 0.99.
	Confidence float64
	// Batch is how many runs are asked for at once.
	Batch int
	// Run runs the case at a revision, at most so often, and returns the outcomes of the
	// runs. A *SkipError passes the revision by; every other ends the search.
	Run func(ctx context.Context, rev, runs int) ([]Outcome, error)
	// Learn is called when the bad end is measured, with its tally, and may decide only then
	// what is looked for; it returns the odds. Default: those of the tally.
	Learn func(Tally) Odds
	// Tell hears of each revision that is decided, and how many are open. Default: nobody.
	Tell func(t Trial, open int)
}

// SkipError is why a revision cannot be tried.
type SkipError struct{ Err error }

func (e *SkipError) Error() string { return e.Err.Error() }

func (e *SkipError) Unwrap() error { return e.Err }

// Trial is what came of one revision.
type Trial struct {
	Rev   int
	Mark  Mark
	Tally Tally
	Why   error // of one that could not be tried
}

// Answer is what a search has found: Last is the last revision that is as the old end,
// First the first that is as the new one. Between are those of which nothing is known:
// the change may be in each of them as well as in First.
type Answer struct {
	Last, First int
	Between     []int
	Trials      []Trial
	Odds        Odds    // of the bug at the bad end
	Lower       float64 // what they are at least
	Need        int     // so many runs that hold make a revision good
	Confidence  float64 // that all of this is right, if the odds are the same wherever the bug is
}

// ErrEnd is an end that is not what it was said to be.
var ErrEnd = errors.New("not as it was said to be")

// Measuring the bad end goes on until the bug has shown so often, or for so many runs.
const (
	enoughShown  = 12
	mostMeasured = 120
)

// Find searches. Its error matches ErrEnd where an end is not as it was said to be.
func Find(ctx context.Context, p Params) (Answer, error) {
	if p.Doubtful == nil {
		p.Doubtful = func(int) bool { return false }
	}
	if p.Learn == nil {
		p.Learn = Tally.Odds
	}
	if p.Tell == nil {
		p.Tell = func(Trial, int) {}
	}
	good, bad, first := 0, p.Revisions-1, Good
	if p.OldIsBad {
		good, bad, first = bad, good, Bad
	}
	s := newSearch(p.Revisions, first, p.Doubtful)
	var a Answer
	t, err := p.measure(ctx, bad, &a)
	a.note(p, t, s)
	if err != nil {
		return a, err
	}
	t, err = p.try(ctx, good, a.Need)
	a.note(p, t, s)
	if err == nil && t.Mark != Good {
		err = fmt.Errorf("the good end is %w: %s", ErrEnd, t.say())
	}
	for rev, ok := s.next(); ok && err == nil; rev, ok = s.next() {
		t, err = p.try(ctx, rev, a.Need)
		if err == nil {
			s.set(rev, t.Mark)
			a.note(p, t, s)
		}
	}
	a.Last, a.First = s.lo, s.hi
	for i := s.lo + 1; i < s.hi; i++ {
		a.Between = append(a.Between, i)
	}
	a.Confidence = a.confidence(p)
	return a, err
}

// note keeps what came of a revision. One that an error has ended is not decided.
func (a *Answer) note(p Params, t Trial, s *search) {
	if t.Mark == "" {
		return
	}
	a.Trials = append(a.Trials, t)
	p.Tell(t, s.open())
}

// say is a trial for an error.
func (t Trial) say() string {
	if t.Why != nil {
		return t.Why.Error()
	}
	return t.Tally.String()
}

// steps is how many revisions can be called good: the good end, and half of the rest each
// time.
func (p Params) steps() int { return 1 + bits.Len(uint(p.Revisions)) }

// risk is how much of what the confidence leaves goes to each of two mistakes: that the
// odds are less than their bound, and that the bug is missed where it is.
func (p Params) risk() float64 { return (1 - p.Confidence) / 2 }

func (a *Answer) confidence(p Params) float64 {
	goods := 0
	for _, t := range a.Trials {
		if t.Mark == Good {
			goods++
		}
	}
	return 1 - p.risk() - float64(goods)*math.Pow(1-a.Lower, float64(a.Need))
}

// measure runs the bad end until the odds of the bug are known well enough, and computes
// from them how often a good revision must hold.
func (p Params) measure(ctx context.Context, bad int, a *Answer) (Trial, error) {
	t := Trial{Rev: bad, Tally: Tally{}}
	for t.Tally[Bug] < enoughShown && t.Tally.Runs() < mostMeasured &&
		(t.Tally[Bug] > 0 || t.Tally[Other]+t.Tally[Invalid] < enoughShown) {
		outcomes, err := p.Run(ctx, bad, min(p.Batch, enoughShown-t.Tally[Bug]))
		if err != nil {
			return t, fmt.Errorf("the bad end: %w", err)
		}
		for _, o := range outcomes {
			t.Tally[o]++
		}
	}
	a.Odds = p.Learn(t.Tally)
	if a.Odds.Shown == 0 {
		return t, fmt.Errorf("the bad end is %w: in %d runs nothing of what is looked for showed: %s", ErrEnd,
			t.Tally.Runs(), t.Tally)
	}
	t.Mark = Bad
	a.Lower = a.Odds.Lower(p.risk())
	a.Need = runsNeeded(a.Lower, p.risk()/float64(p.steps()))
	return t, nil
}

// try runs a revision until it is decided.
func (p Params) try(ctx context.Context, rev, need int) (Trial, error) {
	t := Trial{Rev: rev, Tally: Tally{}}
	for t.Mark == "" {
		outcomes, err := p.Run(ctx, rev, max(1, min(p.Batch, t.Tally.missing(need))))
		var skip *SkipError
		if errors.As(err, &skip) {
			t.Mark, t.Why = Skip, skip.Err
			return t, nil
		}
		if err != nil {
			return t, err
		}
		for _, o := range outcomes {
			t.Tally[o]++
		}
		t.Mark = t.Tally.Decide(need)
	}
	return t, nil
}
