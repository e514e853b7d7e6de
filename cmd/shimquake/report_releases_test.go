package main

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
)

// A list shows which of two releases a case ran on.
func TestTellReleases(t *testing.T) {
	on := func(versions ...string) (cases []report.Case) {
		for _, v := range versions {
			cases = append(cases, report.Case{Workload: "task", Verdict: harness.Verdict{Version: v}})
		}
		return cases
	}
	for want, cases := range map[string][]report.Case{
		"task": on("v2.4.2", "v2.4.2"), "task, v2.4.2": on("v2.4.2", "v2.3.7"),
	} {
		must.Equal(t, tellReleases(cases)[0].Workload, want)
	}
	tellReleases(nil)
}
