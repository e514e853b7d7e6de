package wording

import (
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// statusReasons returns CRI's value of a field, and the right value.
func statusReasons(f finding.Finding) string {
	fs := f.Facts
	by, isTime := "CRI", strings.HasSuffix(fs[fact.Field], "-at")
	if fs[fact.What] == fact.Listing {
		by = "its list"
	}
	reported := by + " reports " + fs[fact.Reported]
	if fs[fact.Reported] == "" {
		reported = by + " reports nothing"
	}
	want := fs[fact.True]
	switch {
	case fs[fact.Is] == fact.Changed:
		want = "it had reported " + want + " before"
	case fs[fact.Is] == fact.NotSet && !isTime:
		reported = "CRI cannot report it: " + fs[fact.Reported]
	case fs[fact.Is] == fact.NotSet:
		reported, want = "CRI has no such time, but "+want, ""
	case fs[fact.Is] == fact.TooEarly && isTime:
		want = "that is before " + want
	case fs[fact.Is] == fact.TooLate && isTime:
		want = "that is after " + want
	case fs[fact.Is] == fact.Other:
		want = "it should be " + want
	}
	return join(reported, want)
}

// lists says which of CRI and containerd has the object.
var lists = []phrase{
	{fact.OnlyByCRI, "", says("CRI lists it, but containerd has nothing with that id: no client of CRI can remove it")},
	{anyValue, "", says("containerd still has it, but CRI does not list it: no client of CRI will remove it")},
}

// places says in which running pod or container the leftover is.
var places = []phrase{
	{fact.InRunningPod, "", says("left by a removed container in a pod that still runs")},
	{fact.InRunningContainer, "", says("left by an exec that has ended, in a container that still runs")},
}
