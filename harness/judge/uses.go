package judge

import (
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
	for n, e := range out.Events {
		at := e.Sent
		if at.IsZero() {
			at = e.Seen
		}
		u := useOf(h, e.Container, e.Exec, e.PID, at)
		out.Events[n].Container, out.Events[n].Exec = u.container, u.exec
	}
	for n, hit := range out.Hits {
		u := useOf(h, hit.ID, hit.ExecID, 0, hit.Time)
		out.Hits[n].ID, out.Hits[n].ExecID = u.container, u.exec
	}
	for n, o := range out.Reported {
		u := useOf(h, o.Container, o.Exec, o.PID, o.At)
		out.Reported[n].Container, out.Reported[n].Exec = u.container, u.exec
	}
	for n, s := range out.Signals {
		out.Signals[n].Container = useOf(h, s.Container, "", 0, s.At).container
	}
	for n, c := range out.Calls {
		id, exec, of := strings.Cut(c.Of, "/")
		u := useOf(h, id, exec, 0, c.At)
		if out.Calls[n].Of = u.container; of {
			out.Calls[n].Of += "/" + u.exec
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

// use is one use of the ids of a container and of an exec in it.
type use struct{ container, exec string }

// useOf returns the use of an id that a pid or a time belongs to.
func useOf(h *harness.History, id, exec string, pid int, at time.Time) use {
	u := use{id, exec}
	var of *harness.Instance
	for n := range h.Instances {
		i := &h.Instances[n]
		if i.ID != id {
			continue
		}
		has := pid != 0 && (int(i.PID) == pid || slices.ContainsFunc(i.Execs, func(e harness.Exec) bool {
			return int(e.PID) == pid
		}))
		if of == nil || has || !at.Before(i.Begun) {
			of = i
		}
		if has {
			break
		}
	}
	if of == nil {
		return u
	}
	u.container = of.Name
	if exec == "" {
		return u
	}
	found := false
	for _, e := range of.Execs {
		has := pid != 0 && int(e.PID) == pid
		if e.ID == exec && (!found || has || !at.Before(e.Begun)) {
			u.exec, found = e.Called(), true
			if e.Name != "" {
				u.exec = e.Name
			}
		}
		if has {
			break
		}
	}
	return u
}
