package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
)

// usesApart returns the history with a different id for each use of an id, so that no
// rule has to know of a second use. c0-2 is the second use of c0, and e0-2 is the second
// use of the exec e0. Events and reports belong to the use with their pid. All other
// records belong to the latest use that had begun by then.
func usesApart(h *harness.History) *harness.History {
	if !h.Case.Workload.ReusesIDs() {
		return h
	}
	out := *h
	out.Instances, out.Events, out.Hits = slices.Clone(h.Instances), slices.Clone(h.Events), slices.Clone(h.Hits)
	out.Reported, out.Signals, out.Calls = slices.Clone(h.Reported), slices.Clone(h.Signals), slices.Clone(h.Calls)
	for n := range out.Events {
		e := &out.Events[n]
		rename(h, &e.Container, &e.Exec, e.PID, cmp.Or(e.Sent, e.Seen))
	}
	for n := range out.Hits {
		rename(h, &out.Hits[n].ID, &out.Hits[n].ExecID, 0, out.Hits[n].Time)
	}
	for n := range out.Reported {
		o := &out.Reported[n]
		rename(h, &o.Container, &o.Exec, o.PID, o.At)
	}
	for n := range out.Signals {
		rename(h, &out.Signals[n].Container, new(string), 0, out.Signals[n].At)
	}
	for n := range out.Calls {
		id, exec, of := strings.Cut(out.Calls[n].Of, "/")
		rename(h, &id, &exec, 0, out.Calls[n].At)
		if out.Calls[n].Of = id; of {
			out.Calls[n].Of += "/" + exec
		}
	}
	for n := range out.Instances {
		i := &out.Instances[n]
		if i.ID == "" {
			continue
		}
		i.Execs = slices.Clone(i.Execs)
		for m := range i.Execs {
			if e := &i.Execs[m]; e.Name != "" {
				e.Outputs = loggedApart(e.Outputs, e.ID, e.Name)
				e.ID = e.Name
			}
		}
		i.Outputs = loggedApart(i.Outputs, i.ID, i.Name)
		i.ID = i.Name
	}
	return &out
}

// loggedApart returns the outputs with the id of the use, if the logger got the id of the
// container or exec.
func loggedApart(o *harness.Outputs, id, use string) *harness.Outputs {
	if o == nil || o.LoggedAs != daemon.TaskNamespace+"/"+id {
		return o
	}
	out := *o
	out.LoggedAs = daemon.TaskNamespace + "/" + use
	return &out
}

// rename gives a container, and an exec in it, the id of the use that a pid or a time
// belongs to.
func rename(h *harness.History, container, exec *string, pid int, at time.Time) {
	i := useAt(h.Instances, at, func(i *harness.Instance) (is, has bool, begun time.Time) {
		has = pid != 0 && (int(i.PID) == pid ||
			slices.ContainsFunc(i.Execs, func(e harness.Exec) bool { return int(e.PID) == pid }))
		return i.ID == *container, i.ID == *container && has, i.Begun
	})
	if i == nil {
		return
	}
	*container = i.Name
	e := useAt(i.Execs, at, func(e *harness.Exec) (is, has bool, begun time.Time) {
		return e.ID == *exec, pid != 0 && int(e.PID) == pid, e.Begun
	})
	if *exec != "" && e != nil {
		*exec = cmp.Or(e.Name, e.ID)
	}
}

// useAt returns the use of an id that has a pid, or else the latest use that had begun at
// a time. It returns the first use if none had begun.
func useAt[T any](all []T, at time.Time, of func(*T) (is, has bool, begun time.Time)) (found *T) {
	for n := range all {
		is, has, begun := of(&all[n])
		if is && (found == nil || has || !at.Before(begun)) {
			found = &all[n]
		}
		if has {
			break
		}
	}
	return found
}
