package oracle

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// task are the facts of containerd's task of that id.
func (d diff) task(ns, id string) Facts {
	if d.after.Daemon == nil {
		return Facts{FactTask: NotAsked}
	}
	if t, ok := d.after.Daemon.task(ns, id); ok {
		return Facts{FactTask: t.Status, FactTaskPID: strconv.Itoa(t.PID)}
	}
	return Facts{FactTask: None}
}

// bundle are the facts of the bundle of that id.
func (d diff) bundle(ns, id string) Facts {
	b, ok := d.after.bundle(ns, id)
	switch {
	case !ok:
		return Facts{FactBundle: Gone}
	case b.Hidden:
		return Facts{FactBundle: Hidden}
	}
	return Facts{FactBundle: There}
}

func (d diff) shim(p Process) Facts {
	fs := d.task(p.Shim.Namespace, p.Shim.ID).With(family(p))
	fs[FactHelper] = p.Shim.Action
	fs[FactBundle], fs[FactSocket] = Gone, None
	if _, ok := d.after.bundle(p.Shim.Namespace, p.Shim.ID); ok {
		fs[FactBundle] = There
	}
	if slices.ContainsFunc(d.after.Sockets, func(s Socket) bool {
		return s.Listening && slices.Contains(p.SocketInodes, s.Inode)
	}) {
		fs[FactSocket] = Listening
	}
	return fs
}

func (d diff) process(p Process, id string) Facts {
	fs := Facts{FactOwner: None}
	if id != "" {
		fs = d.task("", id)
		fs[FactOwner] = OfContainer
	}
	fs[FactProgram] = program(p)
	fs[FactParent], fs[FactParentPID] = ByOther, strconv.Itoa(p.Parent)
	if parent, ok := d.after.process(p.Parent); ok && parent.Shim != nil {
		fs[FactParent] = ByShim
	} else if p.Parent == 1 {
		fs[FactParent] = ByInit
	}
	return fs.With(family(p))
}

// program is the name of a process's program, "" where it cannot be read.
func program(p Process) string {
	if len(p.Argv) == 0 {
		return ""
	}
	words := strings.Fields(p.Argv[0])
	if len(words) == 0 {
		return ""
	}
	return path.Base(words[0])
}

// family are the facts of a process's children and of a state that keeps it from ending.
func family(p Process) Facts {
	fs := Facts{FactChildren: None}
	switch p.State {
	case "Z", "X":
		fs[FactState], fs[FactParentPID] = AZombie, strconv.Itoa(p.Parent)
	case "T", "t":
		fs[FactState] = AStopped
	case "D":
		fs[FactState] = Uninterruptible
	}
	if len(p.Children) > 0 {
		fs[FactChildren], fs[FactChildPIDs] = Some, strings.Trim(fmt.Sprint(p.Children), "[]")
	}
	return fs
}

func (d diff) socketHolder(s Socket) (Process, bool) {
	i := slices.IndexFunc(d.after.Processes, func(p Process) bool { return slices.Contains(p.SocketInodes, s.Inode) })
	if i < 0 || s.Inode == 0 {
		return Process{}, false
	}
	return d.after.Processes[i], true
}

func (d diff) socketBundle(s Socket) (Bundle, bool) {
	name := strings.TrimPrefix(s.Path, "@")
	i := slices.IndexFunc(d.after.Bundles, func(b Bundle) bool {
		return b.Path == s.Beside && s.Beside != "" || b.Address != "" && strings.HasSuffix(b.Address, name)
	})
	if i < 0 {
		return Bundle{}, false
	}
	return d.after.Bundles[i], true
}

func commandLine(p Process) string {
	if len(p.Argv) == 0 {
		return p.Comm
	}
	const most = 120 // runes are of no matter: it is cut for reading
	line := strings.Join(p.Argv, " ")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
