package wording

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// phrase has the words for the findings of a pattern.
type phrase struct {
	when  finding.Pattern
	words string
}

// when returns phrases of pairs of a pattern and its words. The first that matches
// counts, and there are no words if none does.
func when(pairs ...string) (all []phrase) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, phrase{finding.NewPattern(pairs[i]), pairs[i+1]})
	}
	return all
}

// phrases are the parts of sentences that depend on facts. Most have the name of a fact.
var phrases = map[string][]phrase{
	// The objects of the same container.
	"task": when(
		"task=not-asked", "containerd was not asked for its task",
		"task=none", "containerd has no task with that id",
		"task=*", "containerd has its task: {task}, pid {task-pid}"),
	"helper": when("helper=*", `a {"helper"} helper that did not end`),
	"bundle": when(
		"* bundle bundle=gone", "its bundle has gone",
		"* bundle bundle=hidden", "hidden: its removal began and did not finish",
		"* bundle", "",
		"bundle=gone", "bundle gone", "bundle=there", "bundle still there", "bundle=hidden", "bundle hidden"),
	"socket": when("socket=listening", "socket still listening", "socket=none", "no socket",
		"leak socket socket=silent", "socket file without a listener"),
	"served": when("served-by=two-shims", "its group had two shims at once"),
	"shim":   when("shim=alive", "its shim {shim-pid} still runs", "shim=none", "no shim with that id"),
	"parent": when("parent=shim", "child of shim {parent-pid}", "parent=init", "orphan: its parent is init",
		"parent=process", "child of process {parent-pid}"),
	"state": when("state=zombie", "zombie: process {parent-pid} has not reaped it", "state=stopped", "stopped",
		"state=uninterruptible", "in uninterruptible sleep"),
	"children": when("children=none", "no children", "children=some", "children {child-pids}"),
	"process":  when("process=none", "no such process"),
	"container": when("container=there", "the container with that name still exists",
		"", "no container with that name"),
	"lease": when("container=there", "", "lease=expiring", "kept by lease {lease-id}, which expires"),
	"listed": when(
		"listed=by-cri-alone", "CRI lists it, but containerd has nothing with that id: no client of CRI can remove it",
		"", "containerd still has it, but CRI does not list it: no client of CRI will remove it"),
	"in": when(
		"leak * in=running-pod", "left by a removed container in a pod that still runs",
		"leak * in=running-container", "left by an exec that has ended, in a container that still runs"),

	// Sockets, cgroups, leases, networks, files and handles.
	"holder": when("holder=shim", "held by shim process {PID} of {Namespace}/{ID}"),
	"neighbour": when("served-by=neighbour",
		"it belongs to its group, but the shim of another container of the group served it"),
	"runc-root": when("Namespace=*", "/run/containerd/runc/{Namespace}", "", "/run/containerd/runc"),
	"names":     when("bundle=names-it", "bundle {Namespace}/{ID} names it", "bundle=none-left", "no bundle is left"),
	"procs":     when("procs=some", "it has {count} processes", "groups=nested", "it has child cgroups", "", "empty"),
	"create": when(
		"* cgroup create=cut-off", ", and the creation of its container was not finished",
		"event * create=not-asked", "no shim was asked to create it"),
	"expires": when("expires=true", " until it expires"),
	"netns": when("netns=there", "its network namespace is still mounted on {Path}",
		"", "its network namespace is gone"),
	"kind": when(
		"kind=snapshot-directory", "directory of a snapshot", "kind=fifo", "FIFO", "kind=symlink", "symbolic link",
		"kind=label", "label of the namespace", "kind=activation", "activation of the mount manager", "", "{kind}"),
	"by":    when("ID=*", "shim process {PID} ({Namespace}/{ID})", "", "{program}"),
	"stack": when("stack=*", "the stack of one: {stack}"),

	// Exits and events.
	"truth":  when("", "the payload exited with {true} ({source})"),
	"dead":   when("", "{~down}; {~killed}"),
	"down":   when("containerd=down", "containerd was down, or ended at that time"),
	"killed": when("shim=dead", "its shim had been killed by then"),
	"status": when(
		"status=made-up-0", "0 means success",
		"status=made-up-255", "255 means that containerd does not know the status",
		"status=wrong", "{reported} is {~wrong}",
		"sent-by=*", "{reported} means {~signal}, which {sent-by} sent, but it did not end the process",
		"", "{reported} means {~signal}, which was never sent"),
	"at": when("at=*", "at {at} "),
	"topic": when(
		"topic=/tasks/create", "created", "topic=/tasks/start,/tasks/exec-started", "started",
		"topic=/tasks/exit", "exited", "topic=/tasks/delete", "deleted", "topic=/tasks/paused", "paused",
		"topic=/tasks/resumed", "resumed", "topic=/tasks/oom", "OOM-killed", "topic=/tasks/exec-added", "added"),
	"of": when("of=exec", "exec", "", "container"),
	"repeat": when(
		"repeat=other-status", "the status was {first}, then {reported}",
		"repeat=already-reported", "its shim had reported it before, and had told containerd that the task is deleted"),
	"field":     when("field=ip", "IP address", "", "{field}"),
	"reports":   when("reported=", "{~reporter} reports nothing", "", "{~reporter} reports {reported}"),
	"reporter":  when("what=listing", "its list", "", "CRI"),
	"object-of": when("object=pod", "a pod", "", "a container"),

	// containerd, and calls of clients.
	"death": when(
		"asked=true", "it was asked to stop, and ended with {exit} {apart} later",
		"exit=137", "SIGKILL ended it (137), but no fault sent this signal: "+
			"another process in its world or on this machine did",
		"", "it ended by itself with {exit}, without a fault"),
	"times":  when("count=*", " {count} times"),
	"calls":  when("count=*", "{count} calls in all"),
	"error":  when("error=*", " ({error})"),
	"stream": when("stream=*", "the output of its {stream}"),
	"output": when(
		"output=repeated", "{count} lines of its output came twice, or out of order",
		"output=late", "{count} lines of its log were missing when CRI reported its exit, the first {first}",
		"output=unrotated", "{count} lines from after the rotation of its log are in an older log",
		"output=overwritten", "the earlier content of its output file is lost",
		"output=logger-runs", "it was deleted, but the logger of its output still runs",
		"output=another-log", `the logger of its output got the id {"reported"}`,
		"output=misdated", "{count} lines of its log have a wrong time",
		"output=foreign", "{count} lines of its output are not its own",
		"", "{count} lines of its output were lost, the first {first}"),
	"input": when(
		"output=repeated", "{count} lines were read twice, or out of order",
		"output=foreign", "{count} lines were read that the client has not written",
		"", "{count} lines of its input were not read, the first {first}"),
}

// computed returns the phrases that no pattern can choose.
func computed() map[string]func(finding.Finding) string {
	return map[string]func(finding.Finding) string{
		"object": func(f finding.Finding) string { return strings.Trim(f.Subject.Namespace+"/"+f.Subject.ID, "/") },
		"whose":  func(f finding.Finding) string { return exit.NameOf(f.Subject.ID, f.Subject.Exec) },
		"event": func(f finding.Finding) string {
			return strings.TrimSpace("event " + strings.TrimPrefix(f.Facts[fact.Topic], "/"))
		},
		"more":   func(f finding.Finding) string { return strconv.Itoa(number(f, fact.Hierarchies) - 1) },
		"pid":    func(f finding.Finding) string { return fmt.Sprint(int32(f.Subject.PID)) },
		"signal": func(f finding.Finding) string { return signalName(number(f, fact.Reported)) },
		"wrong": func(f finding.Finding) string {
			if number(f, fact.Reported) > 255 {
				return "no exit status"
			}
			return "wrong"
		},
		"true": func(f finding.Finding) string {
			n := number(f, fact.True)
			if n <= exit.SignalBase || n >= 255 {
				return ""
			}
			return fmt.Sprintf("; %d means %s", n, signalName(n))
		},
		// The rules for the workload make these findings about a bystander, too.
		"as-workload": func(f finding.Finding) string {
			as := map[string]finding.Finding{
				fact.OthersEnd:    {Invariant: finding.End, Class: finding.ClassEnd},
				fact.OthersEvent:  {Invariant: finding.Event, Class: finding.ClassEvent},
				fact.OthersStatus: {Invariant: finding.Exit, Class: finding.ClassExitCode},
			}[f.Facts[fact.What]]
			f.Invariant, f.Class = as.Invariant, as.Class
			return fill(f, text(f, func(k finding.Kind) string { return k.Why }))
		},
	}
}

func number(f finding.Finding, key fact.Key) int {
	n, _ := strconv.Atoi(f.Facts[key])
	return n
}

// signalName returns the name of the signal in an exit status.
func signalName(status int) string {
	signal := status - exit.SignalBase
	if name := unix.SignalName(unix.Signal(signal)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", signal)
}
