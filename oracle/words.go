package oracle

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// String is one line for a person.
func (f Finding) String() string {
	s := fmt.Sprintf("%s %s: %s: %s", f.Invariant, f.Class, f.What(), f.Reason())
	if f.Known != "" {
		s += " (known: " + f.Known + ")"
	}
	return s
}

// What names the finding's subject for a person: "shim process 41
// (containerd-shim-runc-v2 default/c1)".
func (f Finding) What() string {
	s := f.Subject
	switch f.Invariant {
	case Residue:
		return "residue gone: " + f.Facts[FactResidue]
	case End:
		return "end of " + NameOf(s.ID, s.Exec)
	case Exit:
		return fmt.Sprintf("exit code of %s by %s", NameOf(s.ID, s.Exec), f.Facts[FactBy])
	case Event:
		return fmt.Sprintf("%s of %s", f.Facts[FactTopic], NameOf(s.ID, s.Exec))
	case Status:
		return fmt.Sprintf("%s of %s %s", f.Facts[FactField], f.Facts[FactObject], s.ID)
	case Liveness:
		w, _ := whatOf(livenessWhats, f.Facts)
		return w.subject
	case Others:
		return othersName(f)
	case Net:
		return networkName(f)
	case Forgot:
		return fmt.Sprintf("process %d (%s) of container %s/%s", s.PID, s.Name, s.Namespace, s.ID)
	}
	return f.leaked()
}

// leaked names a thing that was left.
func (f Finding) leaked() string {
	s := f.Subject
	switch f.Class {
	case ClassShim:
		return fmt.Sprintf("shim process %d (%s %s/%s)", s.PID, s.Name, s.Namespace, s.ID)
	case ClassProcess:
		return fmt.Sprintf("process %d (%s)", s.PID, s.Name)
	case ClassBundle:
		if f.Facts[FactKind] == AWorkDir {
			return "work directory " + s.Path
		}
		return "bundle " + s.Path
	case ClassMount:
		return fmt.Sprintf("%s mount on %s", f.Facts[FactMountType], s.Path)
	case ClassCgroup:
		if n, err := strconv.Atoi(f.Facts[FactHierarchies]); err == nil {
			return fmt.Sprintf("cgroup %s (and in %d more hierarchies)", s.Path, n-1)
		}
		return "cgroup " + s.Path
	case ClassFile:
		return kindWords(f.Facts) + " " + s.Path
	case ClassMetadata:
		return kindWords(f.Facts) + " " + strings.TrimPrefix(s.Namespace+"/"+s.ID, "/")
	case ClassHandle:
		return f.handleWords()
	case ClassNetwork:
		return networkName(f)
	}
	if name := pathNames[f.Class]; name != "" {
		return name + " " + s.Path
	}
	return fmt.Sprintf("%s %s/%s", f.Class, s.Namespace, s.ID)
}

// pathNames are what stands before a path, of the classes that need no more.
var pathNames = map[Class]string{
	ClassSocket: "shim socket", ClassCRIDir: "CRI directory", ClassRuncState: "runc state", ClassFIFO: "FIFO",
}

// Reason says for a person why it is a finding, parts joined by "; ".
func (f Finding) Reason() string {
	var why []string
	switch f.Invariant {
	case Residue:
		return f.residueGone()
	case End:
		why = f.endReasons()
	case Exit:
		why = f.exitReasons()
	case Status:
		why = f.statusReasons()
	case Event:
		why = f.eventReasons()
	case Liveness:
		why = reasons(livenessWhats, f.Facts)
	case Others:
		why = reasons(bystanderWhats, f.Facts)
	case Forgot:
		why = []string{f.forgotReason()}
	case Net:
		why = networkReasons(f.Facts)
	case Loss:
		why = []string{"it is gone, was there before, and is not the client's to remove"}
		if f.Facts[FactIn] == OfTheLiving {
			why = []string{fmt.Sprintf("it is gone, and %s, whose it was, lived when containerd came back", f.Subject.ID)}
		}
	default:
		why = append(f.leakReasons(), podWords(f.Facts)...)
	}
	if f.Because != "" {
		why = append(why, f.Because)
	}
	return strings.Join(why, "; ")
}

func (f Finding) residueGone() string {
	return fmt.Sprintf(
		"%s is known to leave it (%s), and it is not there; if %s is fixed, say so in catalogue/bugs/%s.yaml",
		f.Subject.Name, f.Because, f.Facts[FactSource], f.Facts[FactResidue])
}

// leakReasons are put together in the order in which a reader asks: whose is it, and what
// is left of the rest.
func (f Finding) leakReasons() []string {
	fs := f.Facts
	var why []string
	say := func(words string) {
		if words != "" {
			why = append(why, words)
		}
	}
	switch f.Class {
	case ClassProcess:
		if fs[FactOwner] == OfContainer {
			say("of container " + strings.TrimPrefix(f.Subject.Namespace+"/"+f.Subject.ID, "/"))
		} else {
			say("belongs to no container that is known")
		}
	case ClassSocket:
		say(
			map[string]string{Silent: "socket file is there and nobody listens",
				Listening: "socket still listening"}[fs[FactSocket]],
		)
		if fs[FactHolder] == ByShim {
			say(fmt.Sprintf("held by shim process %d of %s/%s", f.Subject.PID, f.Subject.Namespace, f.Subject.ID))
		}
		if fs[FactServed] == ByNeighbour {
			say("it is its group's, and the shim of another container of the group served it")
		}
		say(twoShimsWords(fs))
		say(map[string]string{
			Named:    fmt.Sprintf("bundle %s/%s names it", f.Subject.Namespace, f.Subject.ID),
			NoneLeft: "no bundle is left",
		}[fs[FactBundle]])
		return why
	case ClassNetwork:
		say(networkWords(f))
	case ClassMount:
		if f.Subject.ID == "" {
			return []string{"not mounted before"}
		}
		say("still mounted for " + path.Join(f.Subject.Namespace, f.Subject.ID))
	case ClassCgroup:
		say(cgroupWords(fs))
	case ClassFile:
		return []string{fileWords(fs)}
	case ClassHandle:
		return handleReasons(fs)
	case ClassContainer:
		if fs[FactListed] != "" {
			return []string{listedWords(fs)}
		}
		say("containerd still has it")
	case ClassTask:
		say(fmt.Sprintf("containerd still has it: %s, pid %s", fs[FactTask], fs[FactTaskPID]))
		if fs[FactProcess] == None {
			say("no such process")
		}
		return why
	case ClassSnapshot:
		if fs[FactKind] == Committed {
			return []string{"committed, and was not there before"}
		}
		return []string{"active or view, and not removed", snapshotWords(fs)}
	case ClassLease:
		kept := "not deleted: it keeps its content and snapshots from being collected"
		if fs[FactExpires] == Yes {
			kept += " until it expires"
		}
		return []string{kept}
	case ClassSandbox:
		if fs[FactListed] != "" {
			return []string{listedWords(fs)}
		}
		say("containerd's sandbox store still has it")
	case ClassFIFO:
		say("not removed")
	case ClassMetadata:
		say("containerd's metadata still has it, and had not before")
	}
	say(taskWords(fs))
	if fs[FactHelper] != "" {
		say(fmt.Sprintf("a %q helper that did not end", fs[FactHelper]))
	}
	say(f.bundleWords())
	say(map[string]string{Listening: "socket still listening", None: "no socket"}[fs[FactSocket]])
	say(twoShimsWords(fs))
	say(shimWords(fs))
	say(parentWords(fs))
	return append(why, familyWords(fs)...)
}

func twoShimsWords(fs Facts) string {
	if fs[FactServed] != ByTwo {
		return ""
	}
	return "its group had two shims at once"
}

func taskWords(fs Facts) string {
	switch fs[FactTask] {
	case "":
		return ""
	case NotAsked:
		return "containerd was not asked for its task"
	case None:
		return "no task of that id in containerd"
	}
	return fmt.Sprintf("containerd has its task: %s, pid %s", fs[FactTask], fs[FactTaskPID])
}

func (f Finding) bundleWords() string {
	if f.Class == ClassBundle {
		return map[string]string{Gone: "its bundle is gone",
			Hidden: "hidden: its removal began and did not end"}[f.Facts[FactBundle]]
	}
	return map[string]string{Gone: "bundle gone", There: "bundle still there",
		Hidden: "bundle hidden"}[f.Facts[FactBundle]]
}

func shimWords(fs Facts) string {
	switch fs[FactShim] {
	case Alive:
		return fmt.Sprintf("its shim %s lives", fs[FactShimPID])
	case None:
		return "no shim of that id"
	}
	return ""
}

func parentWords(fs Facts) string {
	switch fs[FactParent] {
	case ByShim:
		return "child of shim " + fs[FactParentPID]
	case ByInit:
		return "orphan: its parent is init"
	case ByOther:
		return "child of process " + fs[FactParentPID]
	}
	return ""
}

// familyWords tell of a process's children and of a state that keeps it from ending.
func familyWords(fs Facts) []string {
	var why []string
	switch fs[FactState] {
	case AZombie:
		why = append(why, fmt.Sprintf("zombie: process %s has not reaped it", fs[FactParentPID]))
	case AStopped:
		why = append(why, "stopped")
	case Uninterruptible:
		why = append(why, "in uninterruptible sleep")
	}
	switch fs[FactChildren] {
	case None:
		why = append(why, "no children")
	case Some:
		why = append(why, "children "+fs[FactChildPIDs])
	}
	return why
}

func cgroupWords(fs Facts) string {
	words := "empty"
	switch {
	case fs[FactProcs] == Some:
		words = fmt.Sprintf("holds %s processes", fs[FactCount])
	case fs[FactGroups] == Nested:
		words = "holds other groups"
	}
	if fs[FactCreate] == CutOff {
		words += ", and its container was never quite created"
	}
	return words
}

func snapshotWords(fs Facts) string {
	switch {
	case fs[FactContainer] == There:
		return "the container of that name is still there"
	case fs[FactLease] == Expiring:
		return "no container of that name; held by lease " + fs[FactLeaseID] + ", which expires"
	}
	return "no container of that name"
}

func (f Finding) forgotReason() string {
	switch {
	case f.Facts[FactTask] != None:
		return fmt.Sprintf("it runs; containerd says that its task is %s (pid %s)", f.Facts[FactTask], f.Facts[FactTaskPID])
	case f.Facts[FactContainer] == There:
		return "it runs; containerd knows the container but no task of it"
	}
	return "it runs; containerd knows neither a container nor a task of that id"
}
