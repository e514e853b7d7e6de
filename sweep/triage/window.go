package triage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Window is the part of a function, from the first to the last point, in which a
// cluster's faults happen.
type Window struct {
	Who      string           `json:"who"`
	Function string           `json:"function"`
	First    failpoints.Point `json:"first"`
	Last     failpoints.Point `json:"last"`
	// From and To are the places of First and Last. Methods of ttrpc have none.
	From plan.Place `json:"from,omitzero"`
	To   plan.Place `json:"to,omitzero"`
	// Points is how many points of the window have the findings. Swept is how many points
	// the sweep has between First and Last.
	Points int `json:"points"`
	Swept  int `json:"swept"`
}

func (w Window) String() string {
	s := fmt.Sprintf("%s %s", w.Who, w.Function)
	switch {
	case w.From != (plan.Place{}) && w.From != w.To:
		s += fmt.Sprintf(" %s..%d", w.From, w.To.Line)
	case w.From != (plan.Place{}):
		s += " " + w.From.String()
	case w.First != w.Last:
		s += fmt.Sprintf(" %s..%s", w.First.Where, w.Last.Where)
	default:
		s += " " + w.First.Where
	}
	if w.Swept > 1 {
		s += fmt.Sprintf(" (%d of %d points)", w.Points, w.Swept)
	}
	return s
}

// function returns the window of a point's function, without points.
func function(p failpoints.Point) Window { return Window{Who: p.Who, Function: p.What} }

// windows returns a window for each function of the points, the one with the most points
// first.
func windows(p plan.Plan, points map[failpoints.Point]bool) []Window {
	in, swept := map[Window][]failpoints.Point{}, map[Window]map[failpoints.Point]bool{}
	for at := range points {
		in[function(at)] = append(in[function(at)], at)
		swept[function(at)] = map[failpoints.Point]bool{}
	}
	for _, s := range p.Specs {
		at := s.Last().Point
		if of := swept[function(at)]; of != nil {
			of[at] = true
		}
	}
	compare := func(a, b failpoints.Point) int { return inSource(p, a, b) }
	var out []Window
	for w, all := range in {
		of := swept[w]
		w.First, w.Last, w.Points = slices.MinFunc(all, compare), slices.MaxFunc(all, compare), len(all)
		w.From, w.To = p.Places[w.First], p.Places[w.Last]
		for at := range maps.Keys(of) {
			if compare(at, w.First) >= 0 && compare(at, w.Last) <= 0 {
				w.Swept++
			}
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Window) int {
		return cmp.Or(cmp.Compare(b.Points, a.Points), strings.Compare(a.Who+a.Function, b.Who+b.Function))
	})
	return out
}

// inSource orders points by their place in the source.
func inSource(p plan.Plan, a, b failpoints.Point) int {
	return cmp.Or(p.Places[a].Compare(p.Places[b]), strings.Compare(a.String(), b.String()))
}
