package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Search runs cases on a release until one shows the symptoms of a report. Each case
// has one fault at one point, as in a sweep.
type Search struct {
	Engine  *engine.Engine
	Release string
	Report  read.Report
	Quoted  []read.Observation
	Known   []catalogue.Bug
	For     time.Duration
	Out     string
	Replays int
	// Logged returns how many of the quoted messages a run has logged, and how similar its
	// messages are to them, in hundredths of a message.
	Logged func(harness.Verdict) (logged, alike int)
}

// Result is the result of a search.
type Result struct {
	Targets []finding.Match `json:"targets"`
	// Planned, Ran and Fired are the numbers of cases that were planned, that were run, and
	// in which the fault fired.
	Planned int `json:"planned"`
	Ran     int `json:"ran"`
	Fired   int `json:"fired"`
	// Near is the number of cases that left some of the targets.
	Near int `json:"near"`
	// Functions are the functions with the most cases.
	Functions []Searched `json:"functions,omitempty"`
	// Logging are the functions that log the quoted messages.
	Logging []string `json:"logging,omitempty"`
	Found   *Found   `json:"found,omitempty"`
	// Why is the reason if there was no search.
	Why string `json:"why,omitempty"`
}

// Searched is a function, with the number of its cases that were run.
type Searched struct {
	Place string `json:"place"`
	Cases int    `json:"cases"`
}

// Found is a case that shows the symptoms of the report.
type Found struct {
	Spec plan.Spec `json:"spec"`
	// Findings are its findings, and Extra is the number of findings that the report does
	// not mention.
	Findings []finding.Finding `json:"left"`
	Extra    int               `json:"extra"`
	// Logged is the number of quoted messages that it logs.
	Logged int `json:"logged"`
	// Known is the bug of the catalogue with the fault in its window, or "".
	Known string `json:"known,omitempty"`
	// Shown is the minimised case and its replays.
	Shown *triage.Shown `json:"shown,omitempty"`
	Case  string        `json:"case,omitempty"`
}

// NoTargets is the reason why there is no search for a report without a symptom.
const NoTargets = "the report mentions no leak and no wrong status, so there is nothing to search for"

// Run searches. If it cannot search at all, the result's Why has the reason.
func (s Search) Run(ctx context.Context) (Result, error) {
	res := Result{Targets: Targets(s.Report)}
	if len(res.Targets) == 0 {
		res.Why = NoTargets
		return res, nil
	}
	p, err := s.trace(ctx, options(s.Release, s.Report, res.Targets))
	var failed *plan.TraceError
	switch {
	case errors.As(err, &failed):
		res.Why = fmt.Sprintf("the workload %s does not run on %s on this machine: %s", failed.Workload, s.Release,
			failed.Verdict.ProblemsText())
		return res, nil
	case errors.As(err, new(*plan.EmptyError)):
		res.Why = err.Error()
		return res, nil
	case err != nil:
		return res, err
	}
	for _, o := range s.Quoted {
		res.Logging = append(res.Logging, o.Made.Functions(s.Release)...)
	}
	q := newQueue(p, newClues(s.Report, s.Release, res.Targets, res.Logging))
	res.Planned = len(p.Specs)
	best, err := s.sweep(ctx, p, q, time.Now().Add(s.For), &res)
	res.Functions = q.looked()
	if err != nil || best == nil {
		return res, err
	}
	return res, s.show(ctx, p, best, &res)
}

// traceTries is how often the workloads are traced. On a very busy machine a trace may
// fail without any fault.
const traceTries = 3

// trace makes the plan. It accepts workloads that are violated without a fault, because
// the release may have a known bug there.
func (s Search) trace(ctx context.Context, o plan.Options) (p plan.Plan, err error) {
	o.AsItIs = true
	for range traceTries {
		if p, err = plan.Make(ctx, s.Engine, o); !errors.As(err, new(*plan.TraceError)) {
			return p, err
		}
	}
	return p, err
}

// candidate is a case that shows all targets.
type candidate struct {
	result journal.Result
	fit    fit
	logged int
	alike  int
	known  string
}

// better reports whether a is a better candidate than b. A case without a known bug is
// better, then a case that logs more of the report, then a case with fewer other
// findings.
func better(a, b *candidate, p plan.Plan) bool {
	if b == nil {
		return true
	}
	return cmp.Or(
		cmp.Compare(pick(a.known == "", 0, 1), pick(b.known == "", 0, 1)),
		cmp.Compare(b.logged, a.logged), cmp.Compare(b.alike, a.alike),
		cmp.Compare(a.fit.extra, b.fit.extra), plan.Simpler(p.Specs[a.result.I], p.Specs[b.result.I]),
	) < 0
}

// betterWithin is how long a search continues for a better case than its first candidate.
const betterWithin = 2 * time.Minute

// sweep runs cases, the likeliest first, until a candidate is sure or the time is up.
func (s Search) sweep(ctx context.Context, p plan.Plan, q *queue, until time.Time, res *Result) (*candidate, error) {
	running, stop := context.WithDeadline(ctx, until)
	defer stop()
	reported := progress.Begin(ctx, "searching "+s.Release, len(p.Specs), "cases")
	defer reported.End()
	reported.Until(until)
	var best *candidate
	timer := time.NewTimer(0) // replaced at the first candidate
	defer func() { timer.Stop() }()
	likeliest := func(yield func(int) bool) {
		for i, ok := q.next(); ok && yield(i); i, ok = q.next() {
		}
	}
	type ran struct {
		i       int
		verdict harness.Verdict
	}
	err := engine.Each(running, s.Engine, likeliest, func(t *engine.Task, i int) (ran, error) {
		c, err := p.Specs[i].Case(p.Containerd)
		if err != nil {
			return ran{}, err
		}
		v, err := t.Run(c)
		return ran{i, v}, err
	}, func(_ *engine.Task, r ran) error {
		found, err := s.take(p, q, r.i, r.verdict, res)
		reported.Step(fmt.Sprintf("%d near; %s", res.Near, p.Specs[r.i].Last().Place()))
		if found != nil && better(found, best, p) {
			if best == nil { // a better candidate may come soon
				timer = time.AfterFunc(betterWithin, stop)
			}
			if best = found; s.sure(found, res) {
				stop()
			}
		}
		return err
	})
	if ctx.Err() == nil && errors.Is(err, engine.ErrInterrupted) { // the search has ended itself
		err = nil
	}
	return best, err
}

// sure reports whether there is no need to search for a better candidate.
func (s Search) sure(c *candidate, res *Result) bool {
	return c.known == "" && c.fit.exact(res.Targets) && (c.logged > 0 || len(s.Quoted) == 0)
}

// take notes the result of a case, and returns it as a candidate if it shows all targets.
func (s Search) take(p plan.Plan, q *queue, i int, v harness.Verdict, res *Result) (*candidate, error) {
	r, err := journal.ResultOf(i, v)
	if err != nil {
		return nil, err
	}
	res.Ran++
	if !r.Unfired {
		res.Fired++
	}
	f := fitOf(res.Targets, r.Found)
	q.learn(i, f, res.Targets)
	var c *candidate
	known, unconfirmed := s.knownAs(p.Specs[i], r.Found)
	if f.all(res.Targets) && !unconfirmed {
		c = &candidate{result: r, fit: f, known: known}
		c.logged, c.alike = s.Logged(v)
	}
	if f.has > 0 {
		res.Near++
	}
	return c, nil
}

// knownAs returns the known bug that explains the findings of a case at its place, or
// "". It also reports whether that bug is unconfirmed: no function is known to fail in
// this way.
func (s Search) knownAs(spec plan.Spec, found []finding.Finding) (id string, unconfirmed bool) {
	for _, b := range s.Known {
		if b.Sweep != nil && b.MayApply(s.Release) && slices.ContainsFunc(found, func(f finding.Finding) bool {
			return finding.AnyMatches(b.Sweep.Match, f)
		}) && triage.AppliesTo(*b.Sweep, spec) {
			return b.ID, b.Kind == catalogue.Unconfirmed
		}
	}
	return "", false
}

// show minimises the case, replays it and records it.
func (s Search) show(ctx context.Context, p plan.Plan, c *candidate, res *Result) error {
	spec := p.Specs[c.result.I]
	res.Found = &Found{Spec: spec, Extra: c.fit.extra, Logged: c.logged, Known: c.known}
	res.Found.Findings = c.result.Found
	report := triage.NewReport(journal.Head{Plan: p}, []journal.Result{c.result}, nil)
	report.New = slices.DeleteFunc(report.New, func(k triage.Cluster) bool {
		return !slices.ContainsFunc(k.Left, func(g triage.Signature) bool {
			return finding.AnyMatches(res.Targets, finding.Finding{Class: g.Class, Facts: g.Facts})
		})
	})
	if len(report.New) == 0 {
		return nil
	}
	report.New = report.New[:1]
	m := &sweep.Minimiser{Engine: s.Engine, Out: s.Out, Replays: s.Replays}
	if err := m.ShowAll(ctx, p, &report); err != nil {
		return err
	}
	res.Found.Shown = report.New[0].Shown
	if res.Found.Shown != nil && res.Found.Shown.File != "" {
		const maxCase = 1 << 20
		text, err := foreign.ReadFile(res.Found.Shown.File, maxCase)
		if err != nil {
			return fmt.Errorf("read the case: %w", err)
		}
		res.Found.Case = string(text)
	}
	return nil
}
