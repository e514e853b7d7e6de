// Package failpoints defines faults: points, the terms that say what happens there, and
// plans. A hit is one pass of a process through a point. The Controller decides whether
// a fault happens at a hit, and records each hit as evidence.
//
// The injectors that work through the kernel have folders of their own: signal
// (processes), slowsys (system calls) and iopressure (the block device).
package failpoints

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/spelling"
)

// Kind is the mechanism of a fault: what a process reaches, and how the fault is
// injected.
type Kind string

// The kinds of points.
const (
	RPC  Kind = "rpc"  // a ttrpc method, by a probe
	Proc Kind = "proc" // a state of the workload, in which a process gets a signal
	Sys  Kind = "sys"  // a system call of a process.
	IO   Kind = "io"   // writes to a filesystem
	Stmt Kind = "stmt" // a statement of containerd or of its shim, by a probe
)

// Point is a place where a fault can happen, `kind:who:what[:where]`:
// `rpc:shim:Task.Shutdown:entry`, `proc:shim:running`, `sys:shim:umount2:exited`,
// `io:root:running`, `stmt:shim:runc-task.service.Delete:if-err-nil`. It is comparable.
type Point struct {
	Kind Kind
	Who  string // containerd, shim, sandbox, task, node; root for io
	What string // a method, a state, a system call, a function of a woven package
	// Where is entry or exit of a method, the state from which a system call is slow, or
	// a statement's text; otherwise empty.
	Where string
}

func (p Point) String() string {
	s := string(p.Kind) + ":" + p.Who + ":" + p.What
	if p.Where != "" {
		s += ":" + p.Where
	}
	return s
}

// MarshalText returns the point's name, for JSON.
func (p Point) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses a point's name, as ParsePoint does.
func (p *Point) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePoint(string(text))
	return err
}

// States are the states of a workload at which a process can be signalled or pressure can
// begin, in their order. At deleted the client has made its last call, and the check for
// leaks has not begun.
var States = []string{"created", "running", "exited", "deleted"}

// Methods are the ttrpc methods between containerd and its shims in all releases, without
// package and version. Shims serve Sandbox since containerd 2.0. A shim calls
// Events.Forward of containerd.
var Methods = []string{
	"Task.State", "Task.Create", "Task.Start", "Task.Delete", "Task.Pids", "Task.Pause", "Task.Resume", "Task.Checkpoint",
	"Task.Kill", "Task.Exec", "Task.ResizePty", "Task.CloseIO", "Task.Update", "Task.Wait", "Task.Stats", "Task.Connect",
	"Task.Shutdown",
	"Sandbox.CreateSandbox", "Sandbox.StartSandbox", "Sandbox.Platform", "Sandbox.StopSandbox", "Sandbox.WaitSandbox",
	"Sandbox.SandboxStatus", "Sandbox.UpdateSandbox",
	"Sandbox.PingSandbox", "Sandbox.ShutdownSandbox", "Sandbox.SandboxMetrics",
	"Events.Forward",
}

// Syscalls are the system calls that slowsys delays.
var Syscalls = []string{"umount2", "mount", "unlinkat", "rmdir", "fsync"}

// rule says which points a kind has. Package term has the actions.
type rule struct {
	kind    Kind
	example string
	parts   []part // in the order of the fields of Point
	// begins returns the state of the workload at which a fault begins; nil: a probe
	// decides.
	begins func(Point) string
}

// part is a part of a point's name: one of some names, or a text that only a build knows.
type part struct {
	names []string
	form  *regexp.Regexp
	is    string
	want  string // the form in words
}

func oneOf(names ...string) part { return part{names: names} }

var rules = []rule{
	{RPC, "rpc:containerd:Task.State:entry",
		[]part{oneOf("containerd", "shim"), oneOf(Methods...), oneOf("entry", "exit")}, nil},
	{Proc, "proc:containerd:created",
		[]part{oneOf("containerd", "shim", "sandbox", "task", "node"), oneOf(States...)}, Point.what},
	{Sys, "sys:shim:umount2:created", []part{oneOf("shim"), oneOf(Syscalls...), oneOf(States...)}, Point.where},
	{IO, "io:root:created", []part{oneOf("root"), oneOf(States...)}, Point.what},
	{Stmt, "stmt:shim:runc-task.service.Delete:if-err-nil", []part{
		oneOf("containerd", "shim"),
		// The short name of the package, and the function with the receiver's type.
		{nil, regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[A-Za-z0-9_]+){1,2}$`), "function",
			"PACKAGE.FUNCTION or PACKAGE.TYPE.METHOD"},
		// The text, shortened. The second statement with the same text gets a number.
		{nil, regexp.MustCompile(`^[A-Za-z0-9_.-]+(#[1-9][0-9]*)?$`), "statement", "letters, digits, dots and dashes"},
	}, nil},
}

func (p Point) what() string { return p.What }

func (p Point) where() string { return p.Where }

// Service returns the service of a method: Task, Sandbox or Events; "" for other points.
func (p Point) Service() string {
	if p.Kind != RPC {
		return ""
	}
	service, _, _ := strings.Cut(p.What, ".")
	return service
}

// ruleOf returns the rule of a kind, or an empty rule for an unknown kind.
func ruleOf(k Kind) rule {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.kind == k })
	if i < 0 {
		return rule{}
	}
	return rules[i]
}

// Actions returns the actions that points of the kind support.
func (k Kind) Actions() []term.Action { return term.Actions(string(k)) }

// Probed reports whether probes in the processes report the hits of the kind's points.
func (k Kind) Probed() bool { return ruleOf(k).parts != nil && ruleOf(k).begins == nil }

// ParsePoint parses a point's name. Its error names the unknown part and the nearest
// known name.
func ParsePoint(s string) (Point, error) {
	words := strings.Split(s, ":")
	r := ruleOf(Kind(words[0]))
	if r.parts == nil {
		var kinds []string
		for _, known := range rules {
			kinds = append(kinds, string(known.kind))
		}
		slices.Sort(kinds)
		return Point{}, spelling.Unknown("point "+quote(s)+": kind", words[0], kinds)
	}
	if words = words[1:]; len(words) != len(r.parts) {
		return Point{}, fmt.Errorf("point %s: a point of the kind %s has %d parts joined by colons, for example %s",
			quote(s), r.kind, 1+len(r.parts), r.example)
	}
	for i, part := range r.parts {
		is := []string{"process", "name", "side"}[i]
		switch {
		case part.form == nil && !slices.Contains(part.names, words[i]):
			return Point{}, spelling.Unknown("point "+quote(s)+": "+is, words[i], part.names)
		case part.form != nil && !part.form.MatchString(words[i]):
			return Point{}, fmt.Errorf("point %s: %s %s: want %s, for example %s", quote(s), part.is, quote(words[i]),
				part.want, r.example)
		}
	}
	p := Point{Kind: r.kind, Who: words[0], What: words[1]}
	if len(words) > 2 {
		p.Where = words[2]
	}
	return p, nil
}

// State returns the state of the workload at which a fault at the point begins. It
// returns "" if the fault begins at the hit of a probe.
func (p Point) State() string {
	if begins := ruleOf(p.Kind).begins; begins != nil {
		return begins(p)
	}
	return ""
}

// Points returns all points that every release has: every method's entry and exit on both
// sides, every state, every system call. Statements are known for a woven build only.
func Points() []Point {
	var all []Point
	for _, r := range rules {
		where := []string{""}
		if len(r.parts) > 2 {
			where = r.parts[2].names
		}
		for _, who := range r.parts[0].names {
			for _, what := range r.parts[1].names {
				for _, where := range where {
					all = append(all, Point{r.kind, who, what, where})
				}
			}
		}
	}
	return all
}

func quote(s string) string { return strconv.Quote(s) }
