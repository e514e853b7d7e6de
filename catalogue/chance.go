package catalogue

import (
	"slices"

	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
)

// ByChance returns the id of the race that explains all findings of a run, or "". It
// looks only at races that a busy machine can show without their fault. The argument
// workload has the names of the run's workload and of similar ones.
func ByChance(known []Excuse, release string, workload []string, found []finding.Finding) string {
	for _, k := range known {
		if !k.Anywhere || !k.Applies(release) || !k.ofWorkload(workload) {
			continue
		}
		direct := slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return k.Window.Says(f) < 0 })
		if len(direct) > 0 && len(direct)+len(compare.Companions(direct, found)) == len(found) {
			return k.ID
		}
	}
	return ""
}

func (e Excuse) ofWorkload(names []string) bool {
	return len(e.Workloads) == 0 ||
		slices.ContainsFunc(names, func(name string) bool { return slices.Contains(e.Workloads, name) })
}
