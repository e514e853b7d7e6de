package sweep

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle"
)

// Group is a finding: what cases leave that leave the same, for the same reason, when the same has happened.
type Group struct {
	// Name is made of what is left and where: shim-runtime.binary.start.
	Name string `json:"finding"`
	// When is what the faults did: the containerd dies, the shim dies, or something fails.
	When string `json:"when"`
	// Left is what all of its cases leave, the gravest first.
	Left []Signature `json:"left"`
	// Also is what some of them leave besides, and how many.
	Also map[string]int `json:"also,omitempty"`
	// Points is how many points it was seen at, Cases in how many cases.
	Points int `json:"points"`
	Cases  int `json:"cases"`
	// Actions and Workloads are in how many of these cases each was.
	Actions   map[string]int `json:"actions"`
	Workloads map[string]int `json:"workloads"`
	Paths     map[string]int `json:"paths"`
	Windows   []Window       `json:"windows"`
	// Shown is the simplest case that shows it; nil where none was looked for.
	Shown *Shown `json:"shown,omitempty"`

	members []member
}

// member is a case of a group: small, because there may be thousands.
type member struct {
	spec int         // in the plan
	left []Signature // what is not explained by known findings; shared with other members
	with []Signature
	// found is all that the case left, shared with its other members.
	found []oracle.Finding
}

// when says what a case's faults do. What a crash leaves has another cause than what an error leaves, even where it is the same.
func when(s Spec) string {
	var parts []string
	for _, d := range s.deeds() {
		part := "something fails"
		if w := word(d.Action); w == "crash" || w == "panic" {
			part = placeOf(d.Point).who + " dies"
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, and)
}

// and joins what several faults do.
const and = " and "

// signature is what members of one group have in common.
func signature(left []Signature) string {
	parts := make([]string, len(left))
	for i, t := range left {
		parts[i] = t.String()
	}
	return strings.Join(parts, " | ")
}

// groups puts members that leave the same together, the largest group first. A case that leaves more than another in the same function, with the same
// gravest thing for the same reason, belongs to it: what it leaves besides is told as such.
func groups(p Plan, all []member) []Group {
	by := map[string][]member{}
	for _, m := range all {
		key := when(p.Specs[m.spec]) + ": " + signature(m.left)
		by[key] = append(by[key], m)
	}
	keys := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(by[a][0].left), len(by[b][0].left)), cmp.Compare(strings.Count(a, and), strings.Count(b, and)), strings.Compare(a, b))
	})
	var out []*Group
	for _, k := range keys {
		members := by[k]
		var rest []member
		for _, m := range members {
			if g := hostOf(p, out, m); g != nil {
				g.members = append(g.members, m)
			} else {
				rest = append(rest, m)
			}
		}
		if len(rest) > 0 {
			out = append(out, &Group{When: when(p.Specs[rest[0].spec]), Left: rest[0].left, members: rest})
		}
	}
	done := make([]Group, len(out))
	for i, g := range out {
		slices.SortFunc(g.members, func(a, b member) int { return cmp.Compare(a.spec, b.spec) })
		g.sum(p)
		done[i] = *g
	}
	slices.SortFunc(done, func(a, b Group) int {
		return cmp.Or(byGravity(a.Left[0], b.Left[0]), cmp.Compare(b.Cases, a.Cases), strings.Compare(a.When+signature(a.Left), b.When+signature(b.Left)))
	})
	nameAll(done)
	return done
}

// hostOf is the group that a member which leaves more belongs to, or one of several faults of which fewer leave the same.
func hostOf(p Plan, all []*Group, m member) *Group {
	spec := p.Specs[m.spec]
	does := when(spec)
	for _, g := range all {
		if g.Left[0] != m.left[0] || !subset(g.Left, m.left) {
			continue
		}
		if g.When == does && len(g.Left) == len(m.left) || g.When != does && !isPart(g.When, does) {
			continue
		}
		if slices.ContainsFunc(g.members, func(o member) bool { return near(p.Specs[o.spec], spec) }) {
			return g
		}
	}
	return nil
}

// isPart says whether a text of when is a part of another.
func isPart(some, all string) bool {
	parts := strings.Split(all, and)
	return !slices.ContainsFunc(strings.Split(some, and), func(w string) bool { return !slices.Contains(parts, w) })
}

// near says whether two cases have faults in one function.
func near(a, b Spec) bool {
	return slices.ContainsFunc(a.deeds(), func(x Deed) bool {
		return slices.ContainsFunc(b.deeds(), func(y Deed) bool { return placeOf(x.Point) == placeOf(y.Point) })
	})
}

func subset(some, all []Signature) bool {
	return !slices.ContainsFunc(some, func(t Signature) bool { return !slices.Contains(all, t) })
}

// sum counts what the members have.
func (g *Group) sum(p Plan) {
	g.Cases = len(g.members)
	g.Actions, g.Workloads, g.Paths, g.Also = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	points := map[string]bool{}
	for _, m := range g.members {
		s := p.Specs[m.spec]
		points[s.Point] = true
		g.Actions[word(s.Action)]++
		g.Workloads[s.Workload]++
		g.Paths[s.Path]++
		for _, t := range slices.Concat(m.left, m.with) {
			if !slices.Contains(g.Left, t) {
				g.Also[t.String()]++
			}
		}
	}
	g.Points = len(points)
	g.Windows = windows(p, points)
}

// windows are the functions that points are in, the one with the most points first.
func windows(p Plan, points map[string]bool) []Window {
	in := map[place][]string{}
	for _, name := range slices.Sorted(maps.Keys(points)) {
		in[placeOf(name)] = append(in[placeOf(name)], name)
	}
	swept := map[place][]string{}
	for _, s := range p.Specs {
		if at := placeOf(s.Point); in[at] != nil && !slices.Contains(swept[at], s.Point) {
			swept[at] = append(swept[at], s.Point)
		}
	}
	var out []Window
	for at, names := range in {
		slices.SortFunc(names, p.inSource)
		w := Window{Who: at.who, Function: at.function, First: names[0], Last: names[len(names)-1], Points: len(names)}
		w.From, w.To = p.Places[w.First], p.Places[w.Last]
		for _, s := range swept[at] {
			if p.inSource(s, w.First) >= 0 && p.inSource(s, w.Last) <= 0 {
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
func (p Plan) inSource(a, b string) int {
	fileA, lineA, _ := cutLine(p.Places[a])
	fileB, lineB, _ := cutLine(p.Places[b])
	nA, _ := strconv.Atoi(lineA) // rpc points have none: 0
	nB, _ := strconv.Atoi(lineB)
	return cmp.Or(strings.Compare(fileA, fileB), cmp.Compare(nA, nB), strings.Compare(a, b))
}

// nameAll names groups by what is left and the function where most of their points are.
func nameAll(all []Group) {
	taken := map[string]int{}
	for i := range all {
		g := &all[i]
		name := slug(string(g.Left[0].Class) + "-" + g.Windows[0].Who + "-" + g.Windows[0].Function)
		if taken[name]++; taken[name] > 1 {
			name += "-" + strconv.Itoa(taken[name])
		}
		g.Name = name
	}
}
