package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/residue"
)

// leaks: each object that exists after the run existed before it, or is a known residue.
// Each object that existed before still exists. containerd knows the container of each
// running process. A removed container leaves nothing in its running pod, and the second
// use of an id leaves nothing either. A restarted containerd removes no file or mount of
// a running container.
func (known excuses) leaks(h *run) (found []finding.Finding, problems []harness.Problem) {
	if looked(h) {
		found = append(known.left(h), compare.Missing(*h.Before, *h.After.Inventory)...)
	}
	found = append(found, takenFromRunning(h)...)
	if looked(h) {
		forgotten, err := compare.UnknownProcesses(*h.After.Inventory)
		if err != nil {
			problems = problem(harness.ByLook, err.Error())
		}
		found = append(found, forgotten...)
	}
	return slices.Concat(found, known.leftInPod(h), known.leftByReuse(h)), problems
}

// left returns the leaks, and a note for each known residue that should be there and is
// not.
func (known excuses) left(h *run) []finding.Finding {
	if !looked(h) {
		return nil
	}
	now := conditions(h, h.After.At)
	left := residue.Mark(known, compare.Leaks(*h.Before, *h.After.Inventory), now)
	left = slices.DeleteFunc(left, func(f finding.Finding) bool {
		return (brokenBoot(h) || replaced(h)) && (ofPlugin(f) || ofNextBoot(h, f)) ||
			f.Class == finding.ClassHandle && tolerated(h, handlesClosed, span{})
	})
	return append(circumstances(h, left), residue.Absent(known, left, now)...)
}

// brokenBoot reports whether a fault came before the first call of the client. Then
// containerd may not have loaded all plugins before the first inventory.
func brokenBoot(h *run) bool {
	return len(h.Calls) > 0 && tolerated(h, pluginsKept, until(h.Calls[0].At))
}

// replaced reports whether the last containerd is another release than the first. Another
// release has other plugins.
func replaced(h *run) bool {
	all := h.Versions()
	return all[0] != all[len(all)-1]
}

// ofPlugin reports whether a finding is about the directory of a plugin
// (io.containerd.TYPE.ID). containerd makes it at each start.
func ofPlugin(f finding.Finding) bool {
	dir, base := path.Split(f.Facts[fact.Path])
	return f.Class == finding.ClassFile && f.Facts[fact.Kind] == fact.ADirectory &&
		(dir == "STATE/" || dir == "ROOT/") && strings.HasPrefix(base, "io.containerd.")
}

// ofNextBoot reports whether a finding is about a handle of a containerd that started
// after the first inventory. The first inventory does not have the usual handles of that
// containerd.
func ofNextBoot(h *run, f finding.Finding) bool {
	return f.Class == finding.ClassHandle && f.Facts[fact.Program] == "containerd" &&
		!slices.ContainsFunc(h.Before.Handles, func(was inventory.Handles) bool {
			return was.PID == f.Subject.PID && was.Start == f.Subject.Start
		})
}

// takenFromRunning returns the files, directories and mounts of running containers and
// sandboxes that a restarted containerd removed. It ends at a fault in a call of
// containerd, and at the kill of a shim or its processes. After these containerd may have
// to remove them.
func takenFromRunning(h *run) (found []finding.Finding) {
	if h.Before == nil {
		return nil
	}
	last := map[string]inventory.Belongings{}
	for _, is := range h.Belongings {
		if tolerated(h, objectKept, until(is.At)) {
			break
		}
		for _, id := range is.Of {
			if was, ok := last[id]; ok {
				found = append(found, compare.LostWhileRunning(was, inventory.Belongings{Of: []string{id}, Have: is.Have},
					h.Before.Places)...)
			}
		}
		for _, id := range is.Of {
			last[id] = is
		}
	}
	return circumstances(h, uniqueCauses(found))
}

// leftByReuse returns the leaks of the second use of an id. If the first use has leaked a
// shim, containerd may connect to it again, so handles are not reported.
func (known excuses) leftByReuse(h *run) []finding.Finding {
	if h.Reuse == nil || h.Reuse.Err != nil || h.Reuse.After == nil || h.Reuse.After.Inventory == nil || !looked(h) {
		return nil
	}
	l := h.Reuse.After
	owed := compare.ExplainedByLeak(compare.Leaks(*h.Before, *h.After.Inventory))
	return slices.DeleteFunc(
		residue.Mark(known, compare.Leaks(*h.After.Inventory, *l.Inventory), conditions(h, l.At)),
		func(f finding.Finding) bool {
			return f.Invariant == finding.Residue || owed && f.Class == finding.ClassHandle
		})
}
