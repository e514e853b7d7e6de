package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Cut returns a cut of the plan: the plan that other options would make of the same
// traces. It also returns the index in p of each case of the cut. The options may choose
// processes, actions, paths and workloads. The plan must be the widest one
// ([Plan.HasAllCuts]). If no case is left, the error is an *EmptyError.
func (p Plan) Cut(o Options) (Plan, []int, error) {
	o = o.WithDefaults()
	if err := o.Check(); err != nil {
		return Plan{}, nil, err
	}
	if !p.HasAllCuts() || !o.cuts() {
		return Plan{}, nil, fmt.Errorf("the sweep %s does not have all cases of the sweep %s: "+
			"run a sweep with --every-workload --hits path, which has all cases of the default workloads and actions",
			p.Options, o)
	}
	most, err := o.hits()
	if err != nil {
		return Plan{}, nil, err
	}
	hits := map[passed]bool{}
	for _, c := range firstHits(p.candidates(o), most, o.Hits != "first", o.EveryWorkload) {
		hits[c.passed()] = true
	}
	cut := p
	cut.Options, cut.Among, cut.OfCuts, cut.Specs = o.String(), o.amongDefault(), true, nil
	var at []int
	for i, s := range p.Specs {
		if o.plans(s) && hits[s.candidate().passed()] {
			cut.Specs, at = append(cut.Specs, s), append(at, i)
		}
	}
	if len(at) == 0 {
		return Plan{}, nil, &EmptyError{Filter: o.String(), Before: len(p.Specs), Options: p.Options}
	}
	return cut.WithDigest(), at, nil
}

// passed identifies a hit by its point, its workload, its path and its number.
type passed struct {
	unit
	nth int
}

func (c candidate) passed() passed { return passed{unit{c.counted(), c.Path, c.workload}, c.Nth} }

// candidate returns the hit at which the spec's last fault happens.
func (s Spec) candidate() candidate {
	f := s.Last()
	at := verb(f.Action).Moment()
	if f.Point.Kind == failpoints.RPC {
		at = AtMethod
	}
	return candidate{Hit{Point: f.Point, Moment: at, Nth: f.Nth, Path: f.Path}, s.Workload, s.Unsteady && !s.Ending, nil}
}

// candidates returns the hits of the cases that the options choose, in the order of
// [candidates].
func (p Plan) candidates(o Options) (all []candidate) {
	seen := map[passed]bool{}
	for _, s := range p.Specs {
		if c := s.candidate(); o.plans(s) && !seen[c.passed()] {
			seen[c.passed()] = true
			all = append(all, c)
		}
	}
	slices.SortFunc(all, candidate.compare)
	return all
}

// plans reports whether the options choose the case, apart from --hits.
func (o Options) plans(s Spec) bool {
	f := s.Last()
	return len(s.Faults) == 1 && slices.Contains(o.Who, processWord(f.Point)) && slices.Contains(o.Paths, f.Path) &&
		slices.Contains(o.Workloads, s.Workload) && o.Keeps(f.Point) &&
		slices.ContainsFunc(o.Actions, func(a string) bool {
			return a == f.Action || a == f.Word() || a == string(term.Error) && f.Word() == string(term.Lose)
		})
}

// Cuts returns the options that keep some cases of the plan. The default options come
// first, then single options (--who daemon) and pairs (--who daemon --path create). It
// returns nothing for a plan that is not the widest one ([Plan.HasAllCuts]).
func (p Plan) Cuts() (all []Options) {
	var ones []Options
	add := func(word func(Spec) string, set func(*Options, string)) {
		var words []string
		for _, s := range p.Specs {
			words = append(words, word(s))
		}
		slices.Sort(words)
		for _, w := range slices.Compact(words) {
			var o Options
			set(&o, w)
			ones = append(ones, o)
		}
	}
	add(func(s Spec) string { return processWord(s.Last().Point) }, func(o *Options, w string) { o.Who = []string{w} })
	add(func(s Spec) string {
		if w := s.Last().Word(); w != string(term.Lose) {
			return w
		}
		return string(term.Error) // the action `error` plans both faults
	}, func(o *Options, w string) { o.Actions = []string{w} })
	add(func(s Spec) string { return s.Last().Path }, func(o *Options, w string) { o.Paths = []string{w} })
	add(func(s Spec) string { return s.Workload }, func(o *Options, w string) { o.Workloads = []string{w} })
	all = append(all, Options{})
	for i, a := range ones {
		all = append(all, a)
		for _, b := range ones[i+1:] {
			if both, ok := a.and(b); ok {
				all = append(all, both)
			}
		}
	}
	return slices.DeleteFunc(all, func(o Options) bool { _, _, err := p.Cut(o); return err != nil })
}

// Chosen returns the flags for processes, actions, paths and workloads that differ from
// the default, as a user would type them: "--who daemon --path create".
func (o Options) Chosen() string {
	var flags []string
	for _, f := range []struct {
		name  string
		words []string
	}{{"--who", o.Who}, {"--actions", o.Actions}, {"--path", o.Paths}, {"--workload", o.Workloads}} {
		if len(f.words) > 0 {
			flags = append(flags, f.name+" "+strings.Join(f.words, ","))
		}
	}
	return strings.Join(flags, " ")
}

// and combines two single options. It returns false if both set the same flag.
func (o Options) and(b Options) (Options, bool) {
	both := true
	add := func(list *[]string, by []string) {
		both = both && (len(*list) == 0 || len(by) == 0)
		*list = append(slices.Clone(*list), by...)
	}
	add(&o.Who, b.Who)
	add(&o.Actions, b.Actions)
	add(&o.Paths, b.Paths)
	add(&o.Workloads, b.Workloads)
	return o, both
}
