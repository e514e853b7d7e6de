package report

import (
	"fmt"
	"path/filepath"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/random"
)

// Random returns the report of random plans, whose histories are in a folder. It only
// counts the plans with a fault that was not reached, because they have no result.
func Random(rep random.Report, draws []random.Draw, without map[string]harness.Verdict, dir string) Data {
	d := Data{
		Title: "Random plans on containerd " + rep.Version, Without: without,
		Says: []string{
			fmt.Sprintf(
				"%s drawn; in %d each fault happened. Plans with a fault that was not reached, which show nothing: %d.",
				number(rep.Drawn, "plan"),
				rep.Drawn-rep.NotReached,
				rep.NotReached,
			),
			"A seed is replayed with: " + rep.Replay,
		},
		Clusters: clustersOf(rep.Plan, rep.Report),
	}
	parts := make([]harness.Part, len(draws))
	for i, draw := range draws {
		if draw.Outcome != harness.Invalid {
			parts[i] = draw.History
		}
	}
	d.Cases = keptCases(filepath.Join(dir, harness.HistoriesFile), parts, func(n int, v harness.Verdict) Case {
		s := draws[n].Spec
		v.Evidence = "" // it was removed
		return Case{
			ID:       caseID(n),
			Verdict:  v,
			Workload: s.Workload,
			Fault:    fmt.Sprintf("seed %d: %s", draws[n].Seed, faults(s)),
			Replay:   Replay(v),
			Without:  s.Workload,
		}
	})
	return d
}
