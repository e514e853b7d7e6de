package bisect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/shimquake/shimquake/oracle/rate"
)

// Params describes a search.
type Params struct {
	// Names are the names of the revisions in their order. The first and the last are the
	// ends.
	Names []string
	// OldIsBad is set if the first revision is the bad end.
	OldIsBad bool
	// Doubtful is set for revisions that may not exist. They are tried last. It may be nil.
	Doubtful []bool
	// Confidence is the probability that the result is right, such as 0.99.
	Confidence float64
	// Batch is the number of runs in one call of Run.
	Batch int
	// Run runs the case at a revision, at most runs times, and returns the outcomes of
	// the runs. It returns a *SkipError to skip the revision; every other error ends the
	// search.
	Run func(ctx context.Context, rev, runs int) ([]Outcome, error)
	// Learn is called with the outcomes at the bad end, and returns how often the bug
	// shows. It may also choose the bug to search for.
	Learn func(Tally) rate.Odds
	// Decided is called with each decided revision and the number of open ones.
	Decided func(t Trial, open int)
}

// SkipError reports why a revision cannot be tried.
type SkipError struct{ Err error }

func (e *SkipError) Error() string { return e.Err.Error() }

func (e *SkipError) Unwrap() error { return e.Err }

// Trial is the result of one revision.
type Trial struct {
	Revision string `json:"revision"`
	Mark     Mark   `json:"mark"`
	Tally    Tally  `json:"runs"`
	// Why is the error of a revision that could not be tried.
	Why string `json:"why,omitempty"`
}

// String returns the runs, or in a line why there were none.
func (t Trial) String() string {
	why, _, _ := strings.Cut(t.Why, "\n")
	return cmp.Or(why, t.Tally.String())
}

// Result is the result of a search.
type Result struct {
	// First is the first revision that is like the new end, and Last the last one that is
	// like the old end. Between are the unknown revisions between them: the change may be
	// in each of them as well as in First.
	First   string    `json:"first"`
	Last    string    `json:"last"`
	Between []string  `json:"between,omitempty"`
	Odds    rate.Odds `json:"odds"` // of the bug at the bad end
	Need    int       `json:"need"` // the number of held runs of a good revision
	// Confidence is the probability that the result is right, if the odds are the same at
	// all bad revisions.
	Confidence float64 `json:"confidence"`
	Trials     []Trial `json:"trials"`
}

// ErrEnd reports an end that is not good or bad as it was given.
var ErrEnd = errors.New("not as it was said to be")

// The runs of the bad end stop after so many that show the bug, or after so many in
// total.
const (
	enoughShown = 12
	maxMeasured = 120
)

// Find searches. Its error matches ErrEnd if an end is not good or bad as it was given.
func Find(ctx context.Context, p Params) (Result, error) {
	good, bad, first := 0, len(p.Names)-1, Good
	if p.OldIsBad {
		good, bad, first = bad, good, Bad
	}
	s := newSearch(len(p.Names), first, p.Doubtful)
	var a Result
	t, err := p.measure(ctx, bad, &a)
	a.note(p, t, s)
	if err != nil {
		return a, err
	}
	t, err = p.Try(ctx, good, a.Need)
	a.note(p, t, s)
	if err == nil && t.Mark != Good {
		err = fmt.Errorf("the good end is %w: %s", ErrEnd, t)
	}
	for rev, ok := s.next(); ok && err == nil; rev, ok = s.next() {
		t, err = p.Try(ctx, rev, a.Need)
		if err == nil {
			s.set(rev, t.Mark)
			a.note(p, t, s)
		}
	}
	a.Last, a.Between, a.First = p.Names[s.lo], p.Names[s.lo+1:s.hi], p.Names[s.hi]
	a.Confidence = a.confidence()
	return a, err
}

// note keeps the trial of a decided revision. An error leaves a revision undecided.
func (a *Result) note(p Params, t Trial, s *search) {
	if t.Mark == "" {
		return
	}
	a.Trials = append(a.Trials, t)
	p.Decided(t, s.open())
}

// steps returns how many revisions can be called good: the good end, and in each step
// half of the rest.
func (p Params) steps() int { return 1 + bits.Len(uint(len(p.Names))) }

func (a *Result) confidence() float64 {
	goods := 0
	for _, t := range a.Trials {
		if t.Mark == Good {
			goods++
		}
	}
	return 1 - float64(goods)*a.Odds.AllHold(a.Need)
}

// measure runs the bad end until it is known well enough how often the bug shows. From
// this it computes how many runs of a good revision must not show the bug.
func (p Params) measure(ctx context.Context, bad int, a *Result) (Trial, error) {
	t := Trial{Revision: p.Names[bad], Tally: Tally{}}
	for t.Tally[Bug] < enoughShown && t.Tally.Runs() < maxMeasured &&
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
		return t, fmt.Errorf("the bad end is %w: none of %d runs showed the bug that is looked for: %s", ErrEnd,
			t.Tally.Runs(), t.Tally)
	}
	t.Mark = Bad
	a.Need = a.Odds.Needed((1 - p.Confidence) / float64(p.steps()))
	return t, nil
}

// Try runs a revision until it is decided. It is good after so many runs without the bug.
func (p Params) Try(ctx context.Context, rev, need int) (Trial, error) {
	t := Trial{Revision: p.Names[rev], Tally: Tally{}}
	for t.Mark == "" {
		outcomes, err := p.Run(ctx, rev, max(1, min(p.Batch, t.Tally.missing(need))))
		var skip *SkipError
		if errors.As(err, &skip) {
			t.Mark, t.Why = Skip, skip.Error()
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
