// Package wording answers: how is a finding described to a person? [Of] returns a whole
// line, [Subject] the name of the subject, and [Reason] the explanation. No code reads
// them.
package wording

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/quote"
)

// Of returns one line for a person.
func Of(f finding.Finding) string {
	s := fmt.Sprintf("%s %s: %s: %s", f.Invariant, f.Class, Subject(f), Reason(f))
	if f.Known != "" {
		s += " (known: " + f.Known + ")"
	}
	return quote.Line(s)
}

// Subject returns the name of the finding's subject for a person: "shim process 41
// (containerd-shim-runc-v2 default/c1)".
func Subject(f finding.Finding) string {
	s := f.Subject
	switch f.Invariant {
	case finding.Residue:
		return "residue gone: " + f.Facts[fact.Residue]
	case finding.End:
		return "end of " + exit.NameOf(s.ID, s.Exec)
	case finding.Exit:
		return fmt.Sprintf("exit code of %s by %s", exit.NameOf(s.ID, s.Exec), f.Facts[fact.By])
	case finding.Event:
		if f.Facts[fact.Topic] == "" {
			return "CRI's container events"
		}
		return fmt.Sprintf("%s of %s", f.Facts[fact.Topic], exit.NameOf(s.ID, s.Exec))
	case finding.Status:
		return fmt.Sprintf("%s of %s %s", f.Facts[fact.Field], f.Facts[fact.Object], s.ID)
	case finding.Liveness:
		return rowOf(livenessWhats, f.Facts[fact.What]).subject
	case finding.Others:
		return strings.TrimSpace(f.Facts[fact.Object] + " " + s.ID)
	case finding.Net:
		return networkName(f)
	case finding.Forgot:
		return fmt.Sprintf("process %d (%s) of container %s/%s", s.PID, s.Name, s.Namespace, s.ID)
	}
	return leaked(f)
}

// leaked returns the name of a leaked object.
func leaked(f finding.Finding) string {
	s := f.Subject
	switch f.Class {
	case finding.ClassShim:
		return fmt.Sprintf("shim process %d (%s %s/%s)", s.PID, s.Name, s.Namespace, s.ID)
	case finding.ClassProcess:
		return fmt.Sprintf("process %d (%s)", s.PID, s.Name)
	case finding.ClassBundle:
		if f.Facts[fact.Kind] == fact.AWorkDir {
			return "work directory " + s.Path
		}
		return "bundle " + s.Path
	case finding.ClassMount:
		return fmt.Sprintf("%s mount on %s", f.Facts[fact.MountType], s.Path)
	case finding.ClassCgroup:
		if n, err := strconv.Atoi(f.Facts[fact.Hierarchies]); err == nil {
			return fmt.Sprintf("cgroup %s (and in %d more hierarchies)", s.Path, n-1)
		}
		return "cgroup " + s.Path
	case finding.ClassFile:
		return kindWords(f.Facts) + " " + s.Path
	case finding.ClassMetadata:
		return kindWords(f.Facts) + " " + strings.TrimPrefix(s.Namespace+"/"+s.ID, "/")
	case finding.ClassHandle:
		return handleWords(f)
	case finding.ClassNetwork:
		return networkName(f)
	}
	if name := pathNames[f.Class]; name != "" {
		return name + " " + s.Path
	}
	return fmt.Sprintf("%s %s/%s", f.Class, s.Namespace, s.ID)
}

// pathNames are the words before the path, for classes whose name is only that.
var pathNames = map[finding.Class]string{
	finding.ClassSocket: "shim socket", finding.ClassCRIDir: "CRI directory", finding.ClassRuncState: "runc state",
	finding.ClassFIFO: "FIFO",
}

// Reason returns, for a person, why something is a finding. Its parts are joined by "; ".
func Reason(f finding.Finding) string {
	f.Facts[fact.Error] = strings.ReplaceAll(strings.TrimSpace(f.Facts[fact.Error]), "\n", "; ")
	var why string
	switch f.Invariant {
	case finding.Residue:
		return fmt.Sprintf(
			"%s is known to leave it (%s), but it is missing; if %s is fixed, record that in catalogue/bugs/%s.yaml",
			f.Subject.Name, f.Because, f.Facts[fact.Source], f.Facts[fact.Residue])
	case finding.End:
		why = words(ends, f, fact.Status)
	case finding.Exit:
		why = exitReasons(f)
	case finding.Status:
		why = statusReasons(f)
	case finding.Event:
		why = words(events, f, fact.Event)
	case finding.Liveness:
		why = cmp.Or(words(livenessWhats, f, fact.What), f.Facts[fact.Error])
	case finding.Others:
		why = cmp.Or(words(bystanderWhats, f, fact.What), f.Facts[fact.Error])
	case finding.Forgot:
		why = forgotReason(f)
	case finding.Net:
		why = networkReasons(f)
	case finding.Loss:
		why = "it existed before the case and is gone, but the client must not remove it"
		if f.Facts[fact.In] == fact.FromRunning {
			why = fmt.Sprintf("it is gone, although %s still ran when containerd was back", f.Subject.ID)
		}
	default:
		why = join(leakReason(f), words(places, f, fact.In))
	}
	return join(why, f.Because)
}

// leakReason returns the facts in the order in which an operator asks: first the owner,
// then the state of the other objects.
func leakReason(f finding.Finding) string {
	fs, name := f.Facts, strings.TrimPrefix(f.Subject.Namespace+"/"+f.Subject.ID, "/")
	var first string
	switch f.Class {
	case finding.ClassProcess:
		if first = "belongs to no known container"; fs[fact.Owner] == fact.OfContainer {
			first = "of container " + name
		}
	case finding.ClassSocket:
		return socketReason(f)
	case finding.ClassNetwork:
		first = networkWords(f)
	case finding.ClassMount:
		if f.Subject.ID == "" {
			return "not mounted before"
		}
		first = "still mounted for " + path.Join(f.Subject.Namespace, f.Subject.ID)
	case finding.ClassCgroup:
		first = cgroupWords(fs)
	case finding.ClassFile:
		return fileWords(f)
	case finding.ClassHandle:
		return handleReasons(f)
	case finding.ClassContainer, finding.ClassSandbox:
		if fs[fact.Listed] != "" {
			return words(lists, f, fact.Listed)
		}
		if first = "containerd still has it"; f.Class == finding.ClassSandbox {
			first = "containerd's sandbox store still has it"
		}
	case finding.ClassTask:
		return join(says("containerd still has it: %s, pid %s", fact.Task, fact.TaskPID)(f),
			words([]phrase{{fact.None, "", says("no such process")}}, f, fact.Process))
	case finding.ClassSnapshot:
		if fs[fact.Kind] == fact.Committed {
			return "committed, and new"
		}
		return join("active or view, and not removed", snapshotWords(fs))
	case finding.ClassLease:
		if fs[fact.Expires] == fact.Yes {
			return "not deleted: it keeps its content and snapshots from being collected until it expires"
		}
		return "not deleted: it keeps its content and snapshots from being collected"
	case finding.ClassFIFO:
		first = "not removed"
	case finding.ClassMetadata:
		first = "containerd's metadata still has it, and it is new"
	}
	why := []string{first}
	for _, of := range related {
		why = append(why, words(of.rows, f, of.key))
	}
	return join(why...)
}

// related has the words for the state of the objects of the same container.
var related = []struct {
	key  fact.Key
	rows []phrase
}{
	{fact.Task, []phrase{
		{"", "", says("")},
		{fact.NotAsked, "", says("containerd was not asked for its task")},
		{fact.None, "", says("containerd has no task with that id")},
		{anyValue, "", says("containerd has its task: %s, pid %s", fact.Task, fact.TaskPID)},
	}},
	{fact.Helper, []phrase{{"", "", says("")}, {anyValue, "", says("a %q helper that did not end", fact.Helper)}}},
	{fact.Bundle, []phrase{{anyValue, "", bundleWords}}},
	{fact.Socket, []phrase{
		{fact.Listening, "", says("socket still listening")}, {fact.None, "", says("no socket")},
	}},
	{fact.Served, served},
	{fact.Shim, []phrase{
		{fact.Alive, "", says("its shim %s still runs", fact.ShimPID)}, {fact.None, "", says("no shim with that id")},
	}},
	{fact.Parent, []phrase{
		{fact.ByShim, "", says("child of shim %s", fact.ParentPID)},
		{fact.ByInit, "", says("orphan: its parent is init")},
		{fact.ByOther, "", says("child of process %s", fact.ParentPID)},
	}},
	{fact.State, []phrase{
		{fact.AZombie, "", says("zombie: process %s has not reaped it", fact.ParentPID)},
		{fact.AStopped, "", says("stopped")},
		{fact.Uninterruptible, "", says("in uninterruptible sleep")},
	}},
	{fact.Children, []phrase{
		{fact.None, "", says("no children")}, {fact.Some, "", says("children %s", fact.ChildPIDs)},
	}},
}

var served = []phrase{{fact.ByTwo, "", says("its group had two shims at once")}}

func socketReason(f finding.Finding) string {
	fs, name := f.Facts, f.Subject.Namespace+"/"+f.Subject.ID
	holder, neighbour := "", ""
	if fs[fact.Holder] == fact.ByShim {
		holder = fmt.Sprintf("held by shim process %d of %s", f.Subject.PID, name)
	}
	if fs[fact.Served] == fact.ByNeighbour {
		neighbour = "it belongs to its group, but the shim of another container of the group served it"
	}
	return join(
		map[string]string{fact.Silent: "socket file without a listener",
			fact.Listening: "socket still listening"}[fs[fact.Socket]],
		holder, neighbour, words(served, f, fact.Served),
		map[string]string{fact.Named: fmt.Sprintf("bundle %s names it", name),
			fact.NoneLeft: "no bundle is left"}[fs[fact.Bundle]])
}

func bundleWords(f finding.Finding) string {
	if f.Class == finding.ClassBundle {
		return map[string]string{fact.Gone: "its bundle has gone",
			fact.Hidden: "hidden: its removal began and did not finish"}[f.Facts[fact.Bundle]]
	}
	return map[string]string{fact.Gone: "bundle gone", fact.There: "bundle still there",
		fact.Hidden: "bundle hidden"}[f.Facts[fact.Bundle]]
}

func cgroupWords(fs fact.Facts) string {
	words := "empty"
	switch {
	case fs[fact.Procs] == fact.Some:
		words = fmt.Sprintf("it has %s processes", fs[fact.Count])
	case fs[fact.Groups] == fact.Nested:
		words = "it has child cgroups"
	}
	if fs[fact.Create] == fact.CutOff {
		words += ", and the creation of its container was not finished"
	}
	return words
}

func snapshotWords(fs fact.Facts) string {
	switch {
	case fs[fact.Container] == fact.There:
		return "the container with that name still exists"
	case fs[fact.Lease] == fact.Expiring:
		return "no container with that name; kept by lease " + fs[fact.LeaseID] + ", which expires"
	}
	return "no container with that name"
}

func forgotReason(f finding.Finding) string {
	switch {
	case f.Facts[fact.Task] != fact.None:
		return fmt.Sprintf("it runs; containerd reports its task as %s (pid %s)", f.Facts[fact.Task],
			f.Facts[fact.TaskPID])
	case f.Facts[fact.Container] == fact.There:
		return "it runs; containerd has the container but no task for it"
	}
	return "it runs; containerd has neither a container nor a task with that id"
}
