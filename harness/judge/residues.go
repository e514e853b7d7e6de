package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/oracle/rate"
)

// residues counts how often an event that a race may lose was lost, and how often it was
// due: it came, or it is missing as the residue says. What nobody could hear is neither.
// One case cannot tell a race from an event that is never sent; many can.
func residues(h *harness.History, found []oracle.Finding) (out []rate.Count) {
	if !looked(h) {
		return nil
	}
	for _, r := range oracle.KnownResidues() {
		if r.Rate == 0 || !r.Applies(h.Version) {
			continue
		}
		n := rate.Count{ID: r.ID, Most: r.Rate}
		for _, i := range h.Instances {
			lost := slices.ContainsFunc(found, func(f oracle.Finding) bool { return f.Known == r.ID && f.Subject.ID == i.ID })
			if lost {
				n.Left++
			}
			if lost || lastOfShim(h, i.ID) && arrived(h, i.ID, r.Match[oracle.FactTopic]) {
				n.Of++
			}
		}
		if n.Of > 0 {
			out = append(out, n)
		}
	}
	return out
}

func arrived(h *harness.History, id, topic string) bool {
	return id != "" && slices.ContainsFunc(h.Events[:h.Flushed.Events], func(e oracle.TaskEvent) bool {
		return e.Container == id && e.Exec == "" && e.Topic == topic
	})
}
