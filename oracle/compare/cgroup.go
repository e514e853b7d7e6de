package compare

import (
	"strconv"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// byRel groups cgroups with the same path in several hierarchies (cgroup v1). The groups
// are in the order of their first members.
func byRel(all []inventory.Cgroup) (out [][]inventory.Cgroup) {
	at := map[string]int{}
	for _, c := range all {
		n, met := at[c.Rel]
		if !met {
			n = len(out)
			at[c.Rel], out = n, append(out, nil)
		}
		out[n] = append(out[n], c)
	}
	return out
}

// hierarchies returns a fact with the number of hierarchies that have the cgroup, if
// there are several.
func hierarchies(in []inventory.Cgroup) fact.Facts {
	if len(in) == 1 {
		return fact.Facts{}
	}
	return fact.Facts{fact.Hierarchies: strconv.Itoa(len(in))}
}
