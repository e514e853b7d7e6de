package wording

import (
	"cmp"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Match names the findings of a match for a person: "a leaked shim". It returns "" for a
// kind of finding without a name.
func Match(m finding.Match) string {
	fs := m.Facts
	switch m.Class {
	case finding.ClassExitCode:
		return exitCodes[fs[fact.Status]]
	case finding.ClassEnd:
		return endNames[fs[fact.Status]]
	case finding.ClassEvent, finding.ClassCRIEvent:
		of := cmp.Or(strings.TrimPrefix(fs[fact.Topic], "/"), "event")
		if of != "event" {
			of = "event " + of
		}
		return strings.Replace(eventNames[fs[fact.Event]], "event", of, 1)
	case finding.ClassCRIStatus:
		field := fs[fact.Field]
		if field == fact.FieldIP {
			field = "IP address"
		}
		return "a wrong " + field + " in CRI's status"
	case finding.ClassBystander:
		return "an effect on a container that no fault targets"
	}
	if what := fs[fact.What]; what != "" {
		of := "a container"
		if fs[fact.Object] == fact.APod {
			of = "a pod"
		}
		return strings.Replace(whats[what], "OBJECT", of, 1)
	}
	if m.Class == finding.ClassHandle && fs[fact.Kind] == fact.AGoroutine {
		return "a leaked goroutine"
	}
	if m.Class == finding.ClassProcess && fs[fact.State] == fact.AZombie {
		return "a zombie process"
	}
	return leaks[m.Class]
}

var leaks = map[finding.Class]string{
	finding.ClassShim: "a leaked shim", finding.ClassProcess: "a leaked process",
	finding.ClassSocket: "a leaked socket of a shim", finding.ClassBundle: "a leaked bundle",
	finding.ClassCRIDir: "a leaked directory of CRI", finding.ClassMount: "a leaked mount",
	finding.ClassCgroup: "a leaked cgroup", finding.ClassRuncState: "leaked state of runc",
	finding.ClassSnapshot: "a leaked snapshot", finding.ClassLease: "a leaked lease",
	finding.ClassFIFO: "a leaked FIFO", finding.ClassContainer: "a leaked container",
	finding.ClassTask: "a leaked task", finding.ClassSandbox: "a leaked record of a sandbox",
	finding.ClassMetadata: "a leaked record in containerd's metadata", finding.ClassFile: "a leaked file",
	finding.ClassNetwork: "a leaked network of a pod", finding.ClassHandle: "a leaked file descriptor",
}

var exitCodes = map[string]string{
	fact.MadeUp0:    "the exit code 0 in place of the real one",
	fact.MadeUp137:  "the exit code 137 in place of the real one",
	fact.MadeUp255:  "the exit code 255 in place of the real one",
	fact.Unreported: "an exit code that is never reported",
	fact.WrongTime:  "an exit with a wrong time",
}

var endNames = map[string]string{
	fact.Killed:      "a container that containerd or its shim killed",
	fact.KilledEarly: "a container that was killed before the end of its grace period",
	fact.SaidEarly:   "an exit that CRI reports before the end of the grace period",
}

var eventNames = map[string]string{
	"": "a wrong event", fact.Missing: "a missing event", fact.Repeated: "a repeated event",
	fact.Late: "a late event", fact.NoPID: "an event without a pid", fact.NoTime: "an event without an exit time",
	fact.StampedLate: "an event with the time of a later attempt to send it",
	fact.WrongTime:   "an event with a wrong exit time", fact.OtherField: "an event that differs from CRI's status",
	fact.NotSentAgain: "a missing event that the shim did not send again",
}

var whats = map[string]string{
	fact.Removal: "OBJECT that cannot be removed", fact.IDReuse: "OBJECT id that cannot be reused",
	fact.Boot: "a containerd that does not start", fact.Listing: "a list of all objects that fails",
	fact.ARestart: "a containerd that does not respond after a restart", fact.Shutdown: "a shim that ignores SIGTERM",
	fact.Death: "an exit of containerd", fact.ALog: "a message that containerd logs too often",
	fact.ExecKept: "a deleted exec that containerd still has", fact.WrongOutput: "missing or late output",
	fact.WrongResponse: "a wrong response", fact.WrongState: "a wrong state",
	fact.ShimEnded: "a shim that exits by itself", fact.WaitUnanswered: "a Wait without a response",
}
