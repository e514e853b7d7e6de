package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/plan"
)

// queue hands out the cases of a plan, the likeliest first. The result of a case
// changes the rank of its neighbours. These have a fault in the same function, or the
// same action on the same path.
type queue struct {
	plan  plan.Plan
	prior []int
	left  []int // the indexes of the cases that have not been handed out
	// learned has the sum of the results, by function, and by action and path.
	learned map[string]int
	// looks has the number of cases for each function.
	looks map[string]int
}

func newQueue(p plan.Plan, c clues) *queue {
	q := &queue{plan: p, learned: map[string]int{}, looks: map[string]int{}}
	for i, s := range p.Specs {
		q.prior = append(q.prior, c.prior(s))
		q.left = append(q.left, i)
	}
	return q
}

// The weights of a neighbour's result.
const (
	hadAll     = 20
	hadSome    = 8
	hadNothing = -3
	leastOf    = -12 // the minimum for one function
)

func places(s plan.Spec) (function, kind string) {
	f := s.Last()
	return f.Place(), f.Point.Who + " " + f.Word() + " " + f.Path
}

func (q *queue) score(i int) int {
	function, kind := places(q.plan.Specs[i])
	return q.prior[i] + max(q.learned[function], leastOf) + q.learned[kind]/4
}

// next hands out the likeliest remaining case.
func (q *queue) next() (int, bool) {
	if len(q.left) == 0 {
		return 0, false
	}
	i := slices.MaxFunc(q.left, func(a, b int) int {
		return cmp.Or(cmp.Compare(q.score(a), q.score(b)), plan.Simpler(q.plan.Specs[b], q.plan.Specs[a]))
	})
	q.left = slices.DeleteFunc(q.left, func(other int) bool { return other == i })
	function, _ := places(q.plan.Specs[i])
	q.looks[function]++
	q.learned[function]-- // other cases of the function wait for the result of this one
	return i, true
}

// learn notes the result of a case.
func (q *queue) learn(i int, f fit, targets []finding.Match) {
	function, kind := places(q.plan.Specs[i])
	n := hadNothing
	switch {
	case f.all(targets):
		n = hadAll
	case f.has > 0:
		n = hadSome
	}
	q.learned[function] += n
	if n > 0 {
		q.learned[kind] += n
	}
}

// looked returns the functions with the most cases, up to eight.
func (q *queue) looked() []Searched {
	var out []Searched
	for _, p := range slices.SortedFunc(maps.Keys(q.looks), func(a, b string) int {
		return cmp.Or(cmp.Compare(q.looks[b], q.looks[a]), strings.Compare(a, b))
	}) {
		out = append(out, Searched{p, q.looks[p]})
	}
	return out[:min(len(out), 8)]
}
