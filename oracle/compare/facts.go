package compare

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/quote"
)

// task returns the facts of containerd's task with that id.
func (d diff) task(ns, id string) fact.Facts {
	if d.after.Daemon == nil {
		return fact.Facts{fact.Task: fact.NotAsked}
	}
	if t, ok := d.after.Daemon.Task(ns, id); ok {
		return fact.Facts{fact.Task: t.Status, fact.TaskPID: strconv.Itoa(t.PID)}
	}
	return fact.Facts{fact.Task: fact.None}
}

// bundle returns the facts of the bundle with that id.
func (d diff) bundle(ns, id string) fact.Facts {
	b, ok := d.after.Bundle(ns, id)
	switch {
	case !ok:
		return fact.Facts{fact.Bundle: fact.Gone}
	case b.Hidden:
		return fact.Facts{fact.Bundle: fact.Hidden}
	}
	return fact.Facts{fact.Bundle: fact.There}
}

func (d diff) shim(p inventory.Process) fact.Facts {
	fs := d.task(p.Shim.Namespace, p.Shim.ID).With(p.Family())
	fs[fact.Helper] = p.Shim.Action
	fs[fact.Bundle], fs[fact.Socket] = fact.Gone, fact.None
	if _, ok := d.after.Bundle(p.Shim.Namespace, p.Shim.ID); ok {
		fs[fact.Bundle] = fact.There
	}
	if slices.ContainsFunc(d.after.Sockets, func(s inventory.Socket) bool {
		return s.Listening && slices.Contains(p.SocketInodes, s.Inode)
	}) {
		fs[fact.Socket] = fact.Listening
	}
	return fs
}

func (d diff) process(p inventory.Process, id string) fact.Facts {
	fs := fact.Facts{fact.Owner: fact.None}
	if id != "" {
		fs = d.task("", id)
		fs[fact.Owner] = fact.OfContainer
	}
	fs[fact.Program] = program(p)
	fs[fact.Parent], fs[fact.ParentPID] = fact.ByOther, strconv.Itoa(p.Parent)
	if parent, ok := d.after.Process(p.Parent); ok && parent.Shim != nil {
		fs[fact.Parent] = fact.ByShim
	} else if p.Parent == 1 {
		fs[fact.Parent] = fact.ByInit
	}
	return fs.With(p.Family())
}

// program returns the name of a process's program, "" if it cannot be read.
func program(p inventory.Process) string {
	if len(p.Argv) == 0 {
		return ""
	}
	words := strings.Fields(p.Argv[0])
	if len(words) == 0 {
		return ""
	}
	return path.Base(words[0])
}

func commandLine(p inventory.Process) string {
	if len(p.Argv) == 0 {
		return p.Comm
	}
	const most = 120 // in bytes
	return quote.Cut(strings.Join(p.Argv, " "), most)
}
