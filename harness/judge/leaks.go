package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/residue"
)

// leaks: everything that is left was there before, or is a known residue. A residue that
// is due and missing is noted.
func (known excuses) leaks(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	now := conditions(h, h.After.At)
	left := residue.Mark(known, compare.Leaks(*h.Before, *h.After.Inventory), now)
	if brokenBoot(h) || replaced(h) {
		left = slices.DeleteFunc(left, func(f finding.Finding) bool { return ofPlugin(f) || ofNextBoot(h, f) })
	}
	if lost(h) {
		left = slices.DeleteFunc(left, func(f finding.Finding) bool { return f.Class == finding.ClassHandle })
	}
	return append(circumstances(h, left), residue.Absent(known, left, now)...), nil
}

// brokenBoot reports whether a fault came before the client had asked for anything: the
// look before was one at a containerd whose plugins had not all been loaded.
func brokenBoot(h *harness.History) bool {
	return len(h.Calls) > 0 && slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return hit.Who == "containerd" && hit.Fault >= 0 && hit.Time.Before(h.Calls[0].At)
	})
}

// replaced reports whether the containerd of the look is of another release than that of
// the look before. It has other plugins.
func replaced(h *harness.History) bool {
	all := h.Versions()
	return all[0] != all[len(all)-1]
}

// ofPlugin reports whether it is the directory of a plugin (io.containerd.TYPE.ID), which
// it makes at each start of containerd.
func ofPlugin(f finding.Finding) bool {
	dir, base := path.Split(f.Facts[fact.Path])
	return f.Class == finding.ClassFile && f.Facts[fact.Kind] == fact.ADirectory &&
		(dir == "STATE/" || dir == "ROOT/") && strings.HasPrefix(base, "io.containerd.")
}

// ofNextBoot reports whether a containerd holds it that began after the look before, so
// that nobody knows what a whole one holds.
func ofNextBoot(h *harness.History, f finding.Finding) bool {
	return f.Class == finding.ClassHandle && f.Facts[fact.Program] == "containerd" &&
		!slices.ContainsFunc(h.Before.Handles, func(was inventory.Handles) bool {
			return was.PID == f.Subject.PID && was.Start == f.Subject.Start
		})
}

// lost reports whether a fault has made a call of containerd's and lost what it returned.
// That may have been a descriptor, and then it is the fault that has leaked it.
func lost(h *harness.History) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return hit.Who == "containerd" && hit.Did == term.Lose
	})
}

// forgotten: containerd knows the container of each running process.
func forgotten(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	found, err := compare.Forgotten(*h.After.Inventory)
	if err != nil {
		return nil, problem(harness.ByLook, err.Error())
	}
	return found, nil
}
