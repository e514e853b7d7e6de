// Package wording answers: how is a finding described to a person? [Of] returns a whole
// line, [Subject] the name of the subject, and [Reason] the explanation. No code reads
// them.
package wording

import (
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
		w, _ := whatOf(livenessWhats, f.Facts)
		return w.subject
	case finding.Others:
		return othersName(f)
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
	var why []string
	switch f.Invariant {
	case finding.Residue:
		return residueGone(f)
	case finding.End:
		why = endReasons(f)
	case finding.Exit:
		why = exitReasons(f)
	case finding.Status:
		why = statusReasons(f)
	case finding.Event:
		why = eventReasons(f)
	case finding.Liveness:
		why = reasons(livenessWhats, f.Facts)
	case finding.Others:
		why = reasons(bystanderWhats, f.Facts)
	case finding.Forgot:
		why = []string{forgotReason(f)}
	case finding.Net:
		why = networkReasons(f.Facts)
	case finding.Loss:
		why = []string{"it existed before the case and is gone, but the client must not remove it"}
		if f.Facts[fact.In] == fact.FromRunning {
			why = []string{fmt.Sprintf("it is gone, although %s still ran when containerd was back", f.Subject.ID)}
		}
	default:
		why = append(leakReasons(f), podWords(f.Facts)...)
	}
	if f.Because != "" {
		why = append(why, f.Because)
	}
	return strings.Join(why, "; ")
}

func residueGone(f finding.Finding) string {
	return fmt.Sprintf(
		"%s is known to leave it (%s), but it is missing; if %s is fixed, record that in catalogue/bugs/%s.yaml",
		f.Subject.Name, f.Because, f.Facts[fact.Source], f.Facts[fact.Residue])
}

// leakReasons returns the facts in the order in which an operator asks: first the owner,
// then the state of the other objects.
func leakReasons(f finding.Finding) []string {
	fs := f.Facts
	var why []string
	say := func(words string) {
		if words != "" {
			why = append(why, words)
		}
	}
	switch f.Class {
	case finding.ClassProcess:
		if fs[fact.Owner] == fact.OfContainer {
			say("of container " + strings.TrimPrefix(f.Subject.Namespace+"/"+f.Subject.ID, "/"))
		} else {
			say("belongs to no known container")
		}
	case finding.ClassSocket:
		say(
			map[string]string{fact.Silent: "socket file without a listener",
				fact.Listening: "socket still listening"}[fs[fact.Socket]],
		)
		if fs[fact.Holder] == fact.ByShim {
			say(fmt.Sprintf("held by shim process %d of %s/%s", f.Subject.PID, f.Subject.Namespace, f.Subject.ID))
		}
		if fs[fact.Served] == fact.ByNeighbour {
			say("it belongs to its group, but the shim of another container of the group served it")
		}
		say(twoShimsWords(fs))
		say(map[string]string{
			fact.Named:    fmt.Sprintf("bundle %s/%s names it", f.Subject.Namespace, f.Subject.ID),
			fact.NoneLeft: "no bundle is left",
		}[fs[fact.Bundle]])
		return why
	case finding.ClassNetwork:
		say(networkWords(f))
	case finding.ClassMount:
		if f.Subject.ID == "" {
			return []string{"not mounted before"}
		}
		say("still mounted for " + path.Join(f.Subject.Namespace, f.Subject.ID))
	case finding.ClassCgroup:
		say(cgroupWords(fs))
	case finding.ClassFile:
		return []string{fileWords(fs)}
	case finding.ClassHandle:
		return handleReasons(fs)
	case finding.ClassContainer:
		if fs[fact.Listed] != "" {
			return []string{listedWords(fs)}
		}
		say("containerd still has it")
	case finding.ClassTask:
		say(fmt.Sprintf("containerd still has it: %s, pid %s", fs[fact.Task], fs[fact.TaskPID]))
		if fs[fact.Process] == fact.None {
			say("no such process")
		}
		return why
	case finding.ClassSnapshot:
		if fs[fact.Kind] == fact.Committed {
			return []string{"committed, and new"}
		}
		return []string{"active or view, and not removed", snapshotWords(fs)}
	case finding.ClassLease:
		kept := "not deleted: it keeps its content and snapshots from being collected"
		if fs[fact.Expires] == fact.Yes {
			kept += " until it expires"
		}
		return []string{kept}
	case finding.ClassSandbox:
		if fs[fact.Listed] != "" {
			return []string{listedWords(fs)}
		}
		say("containerd's sandbox store still has it")
	case finding.ClassFIFO:
		say("not removed")
	case finding.ClassMetadata:
		say("containerd's metadata still has it, and it is new")
	}
	say(taskWords(fs))
	if fs[fact.Helper] != "" {
		say(fmt.Sprintf("a %q helper that did not end", fs[fact.Helper]))
	}
	say(bundleWords(f))
	say(map[string]string{fact.Listening: "socket still listening", fact.None: "no socket"}[fs[fact.Socket]])
	say(twoShimsWords(fs))
	say(shimWords(fs))
	say(parentWords(fs))
	return append(why, familyWords(fs)...)
}

func twoShimsWords(fs fact.Facts) string {
	if fs[fact.Served] != fact.ByTwo {
		return ""
	}
	return "its group had two shims at once"
}

func taskWords(fs fact.Facts) string {
	switch fs[fact.Task] {
	case "":
		return ""
	case fact.NotAsked:
		return "containerd was not asked for its task"
	case fact.None:
		return "containerd has no task with that id"
	}
	return fmt.Sprintf("containerd has its task: %s, pid %s", fs[fact.Task], fs[fact.TaskPID])
}

func bundleWords(f finding.Finding) string {
	if f.Class == finding.ClassBundle {
		return map[string]string{fact.Gone: "its bundle has gone",
			fact.Hidden: "hidden: its removal began and did not finish"}[f.Facts[fact.Bundle]]
	}
	return map[string]string{fact.Gone: "bundle gone", fact.There: "bundle still there",
		fact.Hidden: "bundle hidden"}[f.Facts[fact.Bundle]]
}

func shimWords(fs fact.Facts) string {
	switch fs[fact.Shim] {
	case fact.Alive:
		return fmt.Sprintf("its shim %s still runs", fs[fact.ShimPID])
	case fact.None:
		return "no shim with that id"
	}
	return ""
}

func parentWords(fs fact.Facts) string {
	switch fs[fact.Parent] {
	case fact.ByShim:
		return "child of shim " + fs[fact.ParentPID]
	case fact.ByInit:
		return "orphan: its parent is init"
	case fact.ByOther:
		return "child of process " + fs[fact.ParentPID]
	}
	return ""
}

// familyWords describe a process's children, and the state that delays its exit.
func familyWords(fs fact.Facts) []string {
	var why []string
	switch fs[fact.State] {
	case fact.AZombie:
		why = append(why, fmt.Sprintf("zombie: process %s has not reaped it", fs[fact.ParentPID]))
	case fact.AStopped:
		why = append(why, "stopped")
	case fact.Uninterruptible:
		why = append(why, "in uninterruptible sleep")
	}
	switch fs[fact.Children] {
	case fact.None:
		why = append(why, "no children")
	case fact.Some:
		why = append(why, "children "+fs[fact.ChildPIDs])
	}
	return why
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
