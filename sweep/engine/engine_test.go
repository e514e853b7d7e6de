package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// runs is a Runner of functions.
type runs func(context.Context, harness.Case) harness.Verdict

func (r runs) Run(ctx context.Context, c harness.Case) harness.Verdict { return r(ctx, c) }

func (r runs) Trace(ctx context.Context, c harness.Case) (harness.Trace, error) {
	return harness.Trace{Verdict: r(ctx, c)}, nil
}

// run is the work of a task that runs one empty case.
func run(t *Task, _ int) (harness.Verdict, error) { return t.Run(harness.Case{}) }

func TestNoMoreCasesAtOnceThanAskedFor(t *testing.T) {
	for _, parallel := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			e := New(runs(func(context.Context, harness.Case) harness.Verdict {
				now := running.Add(1)
				defer running.Add(-1)
				for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
				}
				<-time.After(time.Second) // synctest advances the clock when all have begun
				return harness.Verdict{}
			}), parallel)
			all, err := e.Repeat(t.Context(), harness.Case{}, 12, nil, nil)
			if err != nil || len(all) != 12 || int(most.Load()) != max(parallel, 1) {
				t.Errorf("parallel %d: %d at once, %d runs, %v", parallel, most.Load(), len(all), err)
			}
		})
	}
}

// An item may depend on the results before it, and done is called one at a time.
func TestItemsDependOnResults(t *testing.T) {
	e := New(runs(func(_ context.Context, c harness.Case) harness.Verdict { return harness.Verdict{Case: c} }), 4)
	sum := 0 // without a lock
	items := func(yield func(int) bool) {
		for sum < 100 && yield(1) {
		}
	}
	err := Each(t.Context(), e, items, func(_ *Task, n int) (int, error) { return n, nil },
		func(_ *Task, n int) error { sum += n; return nil })
	if err != nil || sum < 100 || sum > 103 {
		t.Errorf("the sum is %d, %v", sum, err)
	}
}

// The items that a result adds run concurrently, although the goroutines had no item
// before.
func TestAResultAddsItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, left, ran := time.Now(), 1, 0
		next := func() (int, bool) {
			if left == 0 {
				return 0, false
			}
			left--
			return left, true
		}
		err := Follow(t.Context(), New(runs(nil), 3), next, func(_ *Task, i int) (int, error) {
			<-time.After(time.Second) // synctest advances the clock
			return i, nil
		}, func(*Task, int) error {
			if ran++; ran == 1 {
				left = 3
			}
			return nil
		})
		if took := time.Since(began); err != nil || ran != 4 || took != 2*time.Second {
			t.Errorf("%d items in %s: %v", ran, took, err)
		}
	})
}

func TestAnErrorEndsTheOthers(t *testing.T) {
	failed := errors.New("failed")
	e := New(runs(func(ctx context.Context, _ harness.Case) harness.Verdict {
		<-ctx.Done()
		return harness.Verdict{}
	}), 3)
	for name, each := range map[string]func(ctx context.Context, end func()) error{
		"of work": func(ctx context.Context, _ func()) error {
			return Each(ctx, e, Indexes(9), func(t *Task, i int) (harness.Verdict, error) {
				if i == 2 {
					return harness.Verdict{}, failed
				}
				return run(t, i)
			}, func(*Task, harness.Verdict) error { return errors.New("an interrupted run has no result") })
		},
		"of done": func(ctx context.Context, _ func()) error {
			return Each(ctx, e, Indexes(9), func(t *Task, i int) (harness.Verdict, error) {
				if i == 2 {
					return harness.Verdict{}, nil
				}
				return run(t, i)
			}, func(*Task, harness.Verdict) error { return failed })
		},
		"of the context": func(ctx context.Context, end func()) error {
			return Each(ctx, e, Indexes(9), func(t *Task, i int) (harness.Verdict, error) {
				if i == 2 {
					end()
				}
				return run(t, i)
			}, func(*Task, harness.Verdict) error { return errors.New("an interrupted run has no result") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := failed
			if name == "of the context" {
				want = ErrInterrupted
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			must.Is(t, each(ctx, end), want)
		})
	}
}

// A task keeps the evidence that it is told to keep, also after an error.
func TestEvidenceIsRemoved(t *testing.T) {
	for name, tt := range map[string]struct {
		keep func(i int) bool
		fail int // the item with an error, or -1
		want []string
	}{
		"none":            {func(int) bool { return false }, -1, nil},
		"the second":      {func(i int) bool { return i == 1 }, -1, []string{"1"}},
		"after an error":  {func(i int) bool { return i == 1 }, 2, []string{"1"}},
		"with the error":  {func(i int) bool { return i == 2 }, 2, []string{"2"}},
		"all of them are": {func(int) bool { return true }, -1, []string{"0", "1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, n := t.TempDir(), 0
			e := New(runs(func(context.Context, harness.Case) harness.Verdict {
				v := harness.Verdict{Evidence: filepath.Join(dir, strconv.Itoa(n))}
				n++
				if err := os.Mkdir(v.Evidence, 0o755); err != nil {
					t.Error(err)
				}
				return v
			}), 1)
			err := Each(t.Context(), e, Indexes(3), func(task *Task, i int) (int, error) {
				v, err := run(task, i)
				if tt.keep(i) {
					task.Keep(v.Evidence)
				}
				if i == tt.fail {
					err = errors.New("failed")
				}
				return i, err
			}, func(*Task, int) error { return nil })
			var left []string
			entries, readErr := os.ReadDir(dir)
			for _, entry := range entries {
				left = append(left, entry.Name())
			}
			if readErr != nil || !slices.Equal(left, tt.want) || (err != nil) != (tt.fail >= 0) {
				t.Errorf("left %v, %v; want %v", left, err, tt.want)
			}
		})
	}
}

func TestRepeatEndsWhenItHasEnough(t *testing.T) {
	e := New(runs(func(context.Context, harness.Case) harness.Verdict {
		return harness.Verdict{Outcome: harness.Violated}
	}), 1)
	violated := func(v harness.Verdict) bool { return v.Outcome == harness.Violated }
	all := must.Get(e.Repeat(t.Context(), harness.Case{}, 9, violated, nil))(t)
	must.Len(t, all, 1, "runs")
}

// Cases that only wait yield their slot: with one slot, and a wait that ends when the
// second case has begun, both end.
func TestACaseThatWaitsGivesItsSlotAway(t *testing.T) {
	slots := newSlots(1)
	slots.cpu = func() cpuUse { return cpuUse{at: time.Now()} } // never idle
	e := &Engine{Runner: yielding{slots, make(chan struct{}, 2)}, slots: slots, exist: make(chan struct{}, 2)}
	verdicts, err := e.Repeat(t.Context(), harness.Case{}, 2, nil, nil)
	if err != nil || len(verdicts) != 2 || len(slots.free) != 1 {
		t.Errorf("%d verdicts, %d slots: %v", len(verdicts), len(slots.free), err)
	}
}

// A case starts without a free slot while the processors are idle, and not while they
// are busy. The end of a case gives back the extra slot first.
func TestACaseStartsWhileTheProcessorsAreIdle(t *testing.T) {
	for idle, want := range map[float64]int{0: 0, enoughIdle / 2: 0, enoughIdle: 1, 1: 1} {
		s, now := newSlots(1), cpuUse{whole: 1}
		s.cpu = func() cpuUse {
			now.idle += idle
			now.whole++
			return cpuUse{idle: now.idle, whole: now.whole} // at the zero time, so each sample is new
		}
		s.take()
		s.idle() // the first sample has nothing to compare with
		extra := 0
		if s.idle() {
			extra++
			s.give()
		}
		s.give()
		if extra != want || len(s.free) != 1 || s.extra != 0 {
			t.Errorf("%.2f idle: %d extra cases, then %d free and %d extra; want %d, 1 and 0", idle, extra,
				len(s.free), s.extra, want)
		}
	}
}

// yielding is a Runner whose cases wait until two have begun.
type yielding struct {
	slots *slots
	begun chan struct{}
}

func (y yielding) Run(ctx context.Context, _ harness.Case) harness.Verdict {
	y.begun <- struct{}{}
	y.slots.yield(func() {
		for len(y.begun) < 2 && ctx.Err() == nil {
			runtime.Gosched()
		}
	})
	return harness.Verdict{Outcome: harness.Held}
}

func (y yielding) Trace(context.Context, harness.Case) (harness.Trace, error) {
	return harness.Trace{}, errors.New("not traced here")
}
