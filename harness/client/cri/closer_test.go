package cri

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
)

func TestSelectorCompares(t *testing.T) {
	a, b := item{"a", criview.Exited, "c0"}, item{"b", criview.Running, "c1"}
	ended := item{"b", criview.Exited, "c1"}
	both := []item{a, b}
	by := func(field, value string) selector { return selector{field, value} }
	exited := by(fact.FieldState, criview.Exited)
	for name, tc := range map[string]struct {
		by                  selector
		some, before, after []item
		left, others        []string
	}{
		"all of a label":      {by(fact.FieldLabels, "c0"), []item{a}, both, both, nil, nil},
		"none of it":          {by(fact.FieldLabels, "c0"), nil, both, both, []string{"a"}, nil},
		"another":             {by(fact.FieldID, "a"), both, both, both, nil, []string{"b"}},
		"the other state":     {exited, []item{b}, both, both, []string{"a"}, []string{"b"}},
		"one that ends":       {exited, []item{a, ended}, both, []item{a, ended}, nil, nil},
		"one that ends later": {exited, []item{a}, both, []item{a, ended}, nil, nil},
		"one that is removed": {by(fact.FieldID, "a"), nil, []item{a}, nil, nil, nil},
		"nobody has it":       {by(fact.FieldLabels, Absent), nil, both, both, nil, nil},
	} {
		left, others := tc.by.compare(tc.some, tc.before, tc.after)
		if !slices.Equal(left, tc.left) || !slices.Equal(others, tc.others) {
			t.Errorf("%s: left %v and others %v, want %v and %v", name, left, others, tc.left, tc.others)
		}
	}
}
