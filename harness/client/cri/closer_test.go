package cri

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/oracle"
)

func TestSelectorCompares(t *testing.T) {
	a, b := item{"a", oracle.CRIExited, "c0"}, item{"b", oracle.CRIRunning, "c1"}
	ended := item{"b", oracle.CRIExited, "c1"}
	for name, tc := range map[string]struct {
		by                  selector
		some, before, after []item
		left, others        []string
	}{
		"all of a label":            {selector{oracle.FieldLabels, "c0"}, []item{a}, []item{a, b}, []item{a, b}, nil, nil},
		"none of it":                {selector{oracle.FieldLabels, "c0"}, nil, []item{a, b}, []item{a, b}, []string{"a"}, nil},
		"another":                   {selector{oracle.FieldID, "a"}, []item{a, b}, []item{a, b}, []item{a, b}, nil, []string{"b"}},
		"the other state":           {selector{oracle.FieldState, oracle.CRIExited}, []item{b}, []item{a, b}, []item{a, b}, []string{"a"}, []string{"b"}},
		"one that ends":             {selector{oracle.FieldState, oracle.CRIExited}, []item{a, ended}, []item{a, b}, []item{a, ended}, nil, nil},
		"one that ends a bit later": {selector{oracle.FieldState, oracle.CRIExited}, []item{a}, []item{a, b}, []item{a, ended}, nil, nil},
		"one that is removed":       {selector{oracle.FieldID, "a"}, nil, []item{a}, nil, nil, nil},
		"nobody has it":             {selector{oracle.FieldLabels, Absent}, nil, []item{a, b}, []item{a, b}, nil, nil},
	} {
		left, others := tc.by.compare(tc.some, tc.before, tc.after)
		if !slices.Equal(left, tc.left) || !slices.Equal(others, tc.others) {
			t.Errorf("%s: left %v and others %v, want %v and %v", name, left, others, tc.left, tc.others)
		}
	}
}
