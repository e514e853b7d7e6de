package bisect

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/must"
)

// world is a row of revisions with a known result, and a runner that only returns
// outcomes.
type world struct {
	n, change int // change: the first revision that is like the new end
	oldIsBad  bool
	odds      float64       // of the bug at the bad revisions
	skip      map[int]error // revisions that cannot be tried
	other     map[int]bool  // revisions with other violations
	runs      int
	rng       *rand.Rand
	tried     []int
}

func (w *world) bad(rev int) bool { return (rev < w.change) == w.oldIsBad }

func (w *world) run(_ context.Context, rev, runs int) ([]Outcome, error) {
	if !slices.Contains(w.tried, rev) {
		w.tried = append(w.tried, rev)
	}
	if err := w.skip[rev]; err != nil {
		return nil, &SkipError{err}
	}
	out := make([]Outcome, runs)
	for i := range out {
		w.runs++
		out[i] = Held
		if w.bad(rev) && w.rng.Float64() < w.odds {
			out[i] = Bug
		} else if w.other[rev] {
			out[i] = Other
		}
	}
	return out, nil
}

func (w *world) params() Params {
	names := make([]string, w.n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return Params{Names: names, OldIsBad: w.oldIsBad, Confidence: 0.99, Batch: 2, Run: w.run, Learn: Tally.Odds,
		Decided: func(Trial, int) {}}
}

// number returns the number of a revision, which is its name.
func number(t rapid.TB, name string) int {
	return must.Get(strconv.Atoi(name))(t)
}

func newWorld(n, change int, oldIsBad bool, odds float64) *world {
	return &world{n: n, change: change, oldIsBad: oldIsBad, odds: odds, rng: rand.New(rand.NewPCG(1, 2))}
}

// Without luck and without gaps the result is exact, and takes no more trials than
// halving.
func TestFindIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 200).Draw(t, "n")
		w := newWorld(n, rapid.IntRange(1, n-1).Draw(t, "change"), rapid.Bool().Draw(t, "oldIsBad"), 1)
		a := must.Get(Find(t.Context(), w.params()))(t)
		if number(t, a.First) != w.change || number(t, a.Last) != w.change-1 || len(a.Between) > 0 {
			t.Errorf("%+v, want %d", a, w.change)
		}
		if most := 2 + int(math.Ceil(math.Log2(float64(n)))); len(w.tried) > most {
			t.Errorf("tried %d of %d revisions, want %d at most", len(w.tried), n, most)
		}
		if a.Confidence < 0.99 {
			t.Errorf("confidence %v", a.Confidence)
		}
	})
}

// With revisions that cannot be tried, the change is never outside the result, and only
// skipped revisions are left open.
func TestFindWithGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 60).Draw(t, "n")
		w := newWorld(n, rapid.IntRange(1, n-1).Draw(t, "change"), rapid.Bool().Draw(t, "oldIsBad"), 1)
		w.skip, w.other = map[int]error{}, map[int]bool{}
		for i := 1; i < n-1; i++ {
			switch rapid.SampledFrom([]string{"", "", "absent", "other"}).Draw(t, "gap") {
			case "absent":
				w.skip[i] = errors.New("no such release")
			case "other":
				w.other[i] = true
			}
		}
		p := w.params()
		for i := range n {
			p.Doubtful = append(p.Doubtful, w.skip[i] != nil)
		}
		a := must.Get(Find(t.Context(), p))(t)
		if w.change <= number(t, a.Last) || w.change > number(t, a.First) {
			t.Errorf("the change is %d, the answer %s..%s", w.change, a.Last, a.First)
		}
		for _, name := range a.Between {
			if i := number(t, name); w.skip[i] == nil && !w.other[i] {
				t.Errorf("%d is left open: %+v", i, a)
			}
		}
	})
}

// A flaky bug is found at least as often as the confidence says.
func TestFindAFlakyBug(t *testing.T) {
	for _, odds := range []float64{0.9, 0.5, 0.2} {
		wrong, rounds := 0, 300
		rng := rand.New(rand.NewPCG(3, uint64(100*odds)))
		for range rounds {
			w := newWorld(34, 1+rng.IntN(33), rng.IntN(2) == 0, odds)
			w.rng = rng
			a, err := Find(t.Context(), w.params())
			if err != nil || number(t, a.First) != w.change {
				wrong++
			}
		}
		t.Logf("odds %v: %d of %d wrong", odds, wrong, rounds)
		if wrong > rounds/100 {
			t.Errorf("odds %v: %d of %d answers are wrong, want 1 in 100 at most", odds, wrong, rounds)
		}
	}
}

func TestEndsThatAreNotAsSaid(t *testing.T) {
	const badEnd, goodEnd = "the bad end is not as it was said to be", "the good end is not as it was said to be"
	broken := errors.New("does not build")
	for name, tt := range map[string]struct {
		change bool // the ends are reported the wrong way round
		odds   float64
		other  map[int]bool
		skip   map[int]error
		want   string
	}{
		"the wrong way round": {change: true, odds: 1, want: badEnd + ": none of 120 runs showed"},
		"no bug":              {odds: 0, want: badEnd},
		"another bug": {odds: 0, other: map[int]bool{0: true},
			want: "none of 12 runs showed the bug that is looked for: 12 of 12 runs violated otherwise"},
		"the bad end does not build":     {odds: 1, skip: map[int]error{0: broken}, want: broken.Error()},
		"the good end does not build":    {odds: 1, skip: map[int]error{9: broken}, want: broken.Error()},
		"another bug at the good end":    {odds: 1, other: map[int]bool{9: true}, want: goodEnd},
		"nothing wrong, and so no error": {odds: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(10, 5, true, tt.odds)
			w.other, w.skip = tt.other, tt.skip
			p := w.params()
			p.OldIsBad = p.OldIsBad != tt.change
			_, err := Find(t.Context(), p)
			must.Report(t, err, tt.want)
		})
	}
}

func TestFindStopsAtAnError(t *testing.T) {
	broken := errors.New("the module proxy does not answer")
	p := newWorld(10, 5, true, 1).params()
	run := p.Run
	p.Run = func(ctx context.Context, rev, runs int) ([]Outcome, error) {
		if rev == 5 {
			return nil, broken
		}
		return run(ctx, rev, runs)
	}
	must.Is(t, must.ErrorOf(Find(t.Context(), p)), broken)
}

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		tally Tally
		need  int
		want  Mark
	}{
		{Tally{}, 3, ""},
		{Tally{Held: 2}, 3, ""},
		{Tally{Held: 3}, 3, Good},
		{Tally{Bug: 1, Other: 9}, 3, Bad},
		{Tally{Held: 30, Bug: 1}, 3, Bad},
		{Tally{Held: 2, Other: 2}, 3, ""},
		{Tally{Held: 2, Other: 2, Invalid: 1}, 3, Skip},
		{Tally{Invalid: 2}, 1, ""}, // one failure of the machine skips no revision
		{Tally{Invalid: 3}, 1, Skip},
		{Tally{Other: 7}, 8, ""},
	} {
		must.Equal(t, tt.tally.Decide(tt.need), tt.want, tt.tally, "of which are needed", tt.need)
	}
}
