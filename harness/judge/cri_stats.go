package judge

import (
	"fmt"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// criStats: CRI tells what containers use: of each that runs once, by its name and label,
// with the memory limit that it has then, no less of CPUs than before, and of the time of
// the call; of none that is removed, and of no other than was asked for.
func criStats(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	cpu := map[string]time.Duration{}
	for _, q := range h.CRI.Stats {
		if q.Err != nil {
			found = append(found, finding.Finding{
				Invariant: finding.Liveness, Class: finding.ClassDaemon, Facts: q.Err.Facts(fact.Stats)})
			continue
		}
		for _, i := range h.Instances {
			if i.ID == "" {
				continue
			}
			found = append(found, whoseStats(i, q)...)
			for _, t := range q.Told {
				if t.ID != i.ID {
					continue
				}
				found = append(found, usage(i, q, t, uint64(memoryLimit(h, i, q.At)))...)
				if t.CPU < cpu[t.ID] && !t.CPUAt.IsZero() {
					found = append(found, stats(i.ID, fact.FieldCPU, fact.Other, t.CPU.String(),
						"no less than "+cpu[t.ID].String()))
				}
				cpu[t.ID] = max(cpu[t.ID], t.CPU)
			}
		}
	}
	return uniqueCauses(found), nil
}

func stats(id, field, is, reported, want string) finding.Finding {
	f := about(fact.AContainer, id, field, is, reported, want)
	f.Facts[fact.What] = fact.Stats
	return f
}

// whoseStats judges how often an answer tells of a container.
func whoseStats(i harness.Instance, q harness.CRIStats) []finding.Finding {
	n := 0
	for _, t := range q.Told {
		if t.ID == i.ID {
			n++
		}
	}
	told := fmt.Sprintf("%d entries", n)
	removed := !i.Deleted.IsZero() && i.Deleted.Before(q.At)
	switch {
	case n > 0 && (removed || q.Of != "" && q.Of != i.ID):
		return []finding.Finding{stats(i.ID, fact.FieldID, fact.Other, told, "no entry")}
	case n > 1 || n == 0 && runsMeanwhile(i, q) && (q.Of == "" || q.Of == i.ID):
		return []finding.Finding{stats(i.ID, fact.FieldID, fact.Other, told, "one entry")}
	}
	return nil
}

// runsMeanwhile reports whether a container ran from before CRI was asked until it had
// answered.
func runsMeanwhile(i harness.Instance, q harness.CRIStats) bool {
	return !i.Started.IsZero() && i.Started.Before(q.At) && i.Payload.Exited && i.Payload.ExitedAt.After(q.Answered)
}

// statsSlack is by how much the clock may have been set.
const statsSlack = time.Second

// usage judges what an answer tells of a container with a memory limit; 0: it has none.
func usage(i harness.Instance, q harness.CRIStats, t harness.CRIUsage, limit uint64) (found []finding.Finding) {
	add := func(field, is, reported, want string) {
		found = append(found, stats(i.ID, field, is, reported, want))
	}
	if t.Labels != nil {
		found = append(found, labels(fact.AContainer, i.ID, criview.Labels{Name: i.CRIName(), Label: i.Name}, t.Labels,
			fact.Stats)...)
	}
	memory := fmt.Sprintf("%d bytes, and %d more", t.WorkingSet, t.Available)
	switch {
	case !i.Waited.IsZero() && i.Waited.Before(q.At):
		if !t.MemoryAt.IsZero() || !t.CPUAt.IsZero() {
			add(fact.FieldMemory, fact.Other, memory, "nothing: it had ended")
		}
		return found
	case limit == 0 || !runsMeanwhile(i, q):
	case t.WorkingSet == 0 || t.WorkingSet+t.Available != limit:
		add(fact.FieldMemory, fact.Other, memory, strconv.FormatUint(limit, 10)+" bytes in all, and not 0 in use")
	}
	for _, at := range []time.Time{t.MemoryAt, t.CPUAt} {
		switch {
		case at.IsZero():
		case at.Before(q.At.Add(-statsSlack)):
			add(fact.FieldMeteredAt, fact.TooEarly, at.String(), "it was asked")
		case at.After(q.Answered.Add(statsSlack)):
			add(fact.FieldMeteredAt, fact.TooLate, at.String(), "it has answered")
		}
	}
	return found
}
