package repro

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/search"
	"github.com/shimquake/shimquake/repro/statement"
)

// Answer is the result for a report.
type Answer struct {
	// Report has the observations. It is nil if the user named a bug.
	Report *read.Report `json:"report,omitempty"`
	// Release is the containerd that was tried. Guessed is set if neither the report nor the
	// user names it. Bound then has the tested releases that can log most of the quoted
	// lines.
	Release string   `json:"containerd"`
	Guessed bool     `json:"guessed,omitempty"`
	Bound   []string `json:"bound,omitempty"`
	// Fits are the bugs, the best first.
	Fits []rank.Fit `json:"fits,omitempty"`
	// Without are the bugs that the user excluded.
	Without []string `json:"without,omitempty"`
	// Trials are the cases that were run, in their order. Best is the index of the trial
	// that reproduces the report, or -1.
	Trials []Trial `json:"trials,omitempty"`
	Best   int     `json:"best"`
	// Unable are the ids of bugs that fit best but have no case.
	Unable []string `json:"unable,omitempty"`
	// Fixed is the best trial's case on the first release without the bug.
	Fixed *Trial `json:"fixed,omitempty"`
	// Plain are the runs without a fault. There are none if a message or an issue names the
	// bug.
	Plain []Plain `json:"plain,omitempty"`
	// Search is the result of the search, which runs if no trial reproduces the report.
	Search *search.Result `json:"search,omitempty"`
	// Failed is why the work was not finished, such as a release that does not build.
	Failed string        `json:"failed,omitempty"`
	Took   time.Duration `json:"tookNs"`

	bugs map[string]catalogue.Bug
}

// Options are the options of a reproduction.
type Options struct {
	Trier
	// Containerd is the release to try. Default: the release of the report, or else the last
	// release with the best bug.
	Containerd string
	// Bugs are the known bugs.
	Bugs []catalogue.Bug
	// Without are the ids of bugs to leave out.
	Without []string
	// FixedRuns is how often the case runs on the first fixed release.
	FixedRuns int
	// For limits the search. 0 means no search.
	For time.Duration
	// Out is the folder for the search's cases.
	Out string
	// OnRead, if not nil, is called before anything runs, with the observations and the bugs
	// that fit.
	OnRead func(Answer)
}

// Match compares a report with the known bugs, and runs nothing.
func Match(r read.Report, o Options) Answer {
	a := Answer{Report: &r, Best: -1, Release: o.Containerd, Without: o.Without, bugs: map[string]catalogue.Bug{}}
	if a.Release == "" {
		a.Release = r.Version()
	}
	bugs := without(o.Bugs, o.Without)
	for _, b := range bugs {
		a.bugs[b.ID] = b
	}
	a.Fits = rank.Rank(r, a.Release, bugs)
	if a.Release == "" {
		a.Guessed, a.Bound = true, statement.Releases(made(r))
		a.Release = a.guess()
	}
	return a
}

// ForReport reproduces a report. If it cannot finish, Failed has the reason. It returns
// an error only if ctx has ended.
func ForReport(ctx context.Context, r read.Report, o Options) (Answer, error) {
	began := time.Now()
	a := Match(r, o)
	if o.OnRead != nil {
		o.OnRead(a)
	}
	err := a.find(ctx, r, o)
	if err == nil && a.Best >= 0 {
		a.tryFixed(ctx, o)
	}
	if err != nil {
		a.Failed = err.Error()
	}
	a.Took = time.Since(began)
	return a, ctx.Err()
}

// find runs the cases that may show the reported symptoms, the cheapest first.
func (a *Answer) find(ctx context.Context, r read.Report, o Options) error {
	known := len(a.Fits) > 0 && a.Fits[0].Clears && a.Fits[0].Sure()
	bug := a.Guessed && len(a.runnable()) > 0 // the release is the bug's, so runs without a fault on it prove nothing
	// A run can only show objects that were left, and messages.
	shows := !rank.Elsewhere(r) && (leftObjects(r) || len(Quoted(r)) > 0)
	if !known && !bug && shows && a.Release != "" && o.For > 0 {
		if err := a.tryPlain(ctx, r, o); err != nil {
			return err
		}
	}
	if a.plainLike() != nil { // the symptoms show without a fault
		return nil
	}
	if err := a.tryBest(ctx, r, o); err != nil {
		return err
	}
	if len(a.Unable) > 0 && !a.sure() {
		a.Best = -1 // the best trial logs none of the quoted messages, but the bug without a case does
	}
	if a.sure() || len(a.Unable) > 0 || o.For == 0 {
		return nil
	}
	return a.search(ctx, r, o)
}

// ForBug reproduces a bug that the user named.
func ForBug(ctx context.Context, b catalogue.Bug, o Options) (Answer, error) {
	began := time.Now()
	a := Answer{Best: -1, Release: o.Containerd, bugs: map[string]catalogue.Bug{b.ID: b}}
	if a.Release == "" {
		a.Release = lastBad(b, nil)
	}
	if len(b.Cases) == 0 {
		a.Unable = []string{b.ID}
		return a, nil
	}
	var err error
	if a.Trials, err = o.Try(ctx, a.Release, o.Runs, nil, b); err != nil {
		return a, err
	}
	if a.Trials[0].Reproduced() {
		a.Best = 0
		a.tryFixed(ctx, o)
	}
	a.Took = time.Since(began)
	return a, nil
}

// Limits on the bugs that are run. Without quoted messages, at most maxTried bugs run
// until one shows, and the bugs with the same score. With quoted messages, maxCompared
// bugs run once each, and the messages tell them apart.
const (
	maxTried    = 3
	maxCompared = 8
)

// tryBest runs the bugs that fit.
func (a *Answer) tryBest(ctx context.Context, r read.Report, o Options) error {
	fit := a.runnable()
	for _, f := range a.Fits {
		if f.Clears && len(f.Bug.Cases) == 0 && f.Sure() {
			a.Unable = append(a.Unable, f.ID)
		}
	}
	if len(Quoted(r)) > 0 && len(fit) > 1 {
		return a.tournament(ctx, o, fit[:min(len(fit), maxCompared)], r)
	}
	for i, f := range fit[:min(len(fit), maxTried)] {
		if a.Best >= 0 && f.Score < fit[a.Best].Score {
			return nil // only bugs with the same score are also run, because nothing else tells them apart
		}
		trials, err := o.Try(ctx, a.Release, o.Runs, &r, f.Bug)
		if err != nil {
			return err
		}
		a.Trials = append(a.Trials, trials...)
		if trials[0].Reproduced() && a.Best < 0 {
			a.Best = i
		}
	}
	return nil
}

// runnable returns the bugs that fit and have a case, the best first.
func (a *Answer) runnable() (fit []rank.Fit) {
	for _, f := range a.Fits {
		if f.Clears && len(f.Bug.Cases) > 0 {
			fit = append(fit, f)
		}
	}
	return fit
}

// tournament runs each bug once. Then the bug that logs most of the quoted messages
// runs o.Runs times in all, because many bugs are races. The bugs that fit better do,
// too.
func (a *Answer) tournament(ctx context.Context, o Options, fit []rank.Fit, r read.Report) error {
	var bugs []catalogue.Bug
	for _, f := range fit {
		bugs = append(bugs, f.Bug)
	}
	var err error
	if a.Trials, err = o.Try(ctx, a.Release, 1, &r, bugs...); err != nil {
		return err
	}
	if leader := a.maxAlike(); leader >= 0 {
		bugs = bugs[:leader+1] // and the bugs that fit better: one run may not show them
	}
	if o.Runs > 1 {
		more, err := o.Try(ctx, a.Release, o.Runs-1, &r, bugs...)
		if err != nil {
			return err
		}
		for i, t := range more {
			a.Trials[i] = a.Trials[i].with(t)
		}
	}
	a.Best = a.maxAlike()
	return nil
}

// maxAlike returns the index of the trial that logs most of the quoted messages, or the
// first of several. It returns -1 if no trial has shown its bug.
func (a *Answer) maxAlike() int {
	best := -1
	for i, t := range a.Trials {
		if t.Reproduced() && (best < 0 || t.Alike > a.Trials[best].Alike) {
			best = i
		}
	}
	return best
}

// sure reports whether the best trial reproduces the report. If it logs none of the
// quoted messages, it may be another bug that leaves the same objects.
func (a *Answer) sure() bool {
	if a.Best < 0 {
		return false
	}
	t := a.Trials[a.Best]
	return len(t.Quoted) == 0 || len(t.Logged) > 0
}

// tryFixed runs the best trial's case on the first release without the bug, of the same
// branch or of a later one. An error does not change the result.
func (a *Answer) tryFixed(ctx context.Context, o Options) {
	t := a.Trials[a.Best]
	b := a.bugs[t.Bug]
	fixed := b.Releases.FirstFixed(a.Release)
	if fixed == "" || o.FixedRuns == 0 {
		return
	}
	fmt.Fprintf(o.Log, "%s: shown in %d of %d runs; now on %s, the first release without it (Ctrl-C skips this) ...\n",
		b.ID,
		t.Shown, t.Runs, fixed)
	a.Fixed = &Trial{Bug: b.ID, Case: t.Case, Release: fixed}
	if done, err := o.Try(ctx, fixed, o.FixedRuns, nil, b); err != nil {
		a.Fixed.Why = err.Error()
	} else {
		a.Fixed = &done[0]
	}
}

// guess returns the release to try if the report names none. It is the newest release
// with the best bug, or else the newest that can log the quoted lines, or "".
func (a *Answer) guess() string {
	if fit := a.runnable(); len(fit) > 0 {
		bug := fit[0].Bug
		return cmp.Or(lastBad(bug, a.Bound), lastBad(bug, nil))
	}
	if len(a.Bound) > 0 {
		return a.Bound[len(a.Bound)-1]
	}
	return ""
}

// guessText returns how the release was chosen, or "" if the report or the user names it.
func (a Answer) guessText() string {
	can := func(r string) bool { return affected.BranchOf(r) == affected.BranchOf(a.Release) }
	switch {
	case !a.Guessed || a.Release == "":
		return ""
	case !slices.ContainsFunc(a.Bound, can):
		return "no line names the release of containerd; " + a.Release + " has the bug that fits best"
	}
	return fmt.Sprintf("no line names the release of containerd; %s (%s to %s) can log most of the quoted messages",
		quote.Count(len(a.Bound), "tested release"), a.Bound[0], a.Bound[len(a.Bound)-1])
}

// lastBad returns the newest release that is known to have a bug. If of is not nil, it
// looks only at the branches of those releases.
func lastBad(b catalogue.Bug, of []string) string {
	for _, name := range slices.Backward(b.Releases.Branches()) {
		in := of == nil || slices.ContainsFunc(of, func(r string) bool { return affected.BranchOf(r) == name })
		if last := b.Releases[name].Last(); in && last != "" {
			return last
		}
	}
	return ""
}

func without(bugs []catalogue.Bug, ids []string) []catalogue.Bug {
	return slices.DeleteFunc(slices.Clone(bugs), func(b catalogue.Bug) bool { return slices.Contains(ids, b.ID) })
}

// Status returns the exit status. It is 1 if something was shown, 0 if the bugs that fit
// were run and held, and 3 otherwise.
func (a Answer) Status() int {
	held := len(a.Trials) > 0 && !slices.ContainsFunc(a.Trials, func(t Trial) bool { return t.Held < t.Runs })
	switch {
	case a.Best >= 0 || a.found() || a.plainLike() != nil:
		return 1
	case held && a.Search == nil:
		return 0
	}
	return 3
}

// found reports whether the search has found a case.
func (a Answer) found() bool { return a.Search != nil && a.Search.Found != nil }

// ErrEmpty is the error for a report without a line.
var ErrEmpty = errors.New("the report is empty: paste ps, ctr, crictl or the journal into it")

// CheckWithout returns an error for an id without a bug.
func CheckWithout(bugs []catalogue.Bug, ids []string) error {
	for _, id := range ids {
		if !slices.ContainsFunc(bugs, func(b catalogue.Bug) bool { return b.ID == id }) {
			return fmt.Errorf("--without %s: there is no bug with that id; see shimquake list bugs", id)
		}
	}
	return nil
}
