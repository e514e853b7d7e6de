// Package failpoints defines faults: points, the terms that say what happens there, and
// plans. A hit is one pass of a process through a point. The Controller decides whether
// a fault happens at a hit, and records each hit as evidence.
//
// The injectors that work through the kernel have folders of their own: signal
// (processes), slowsys (system calls) and iopressure (the block device).
package failpoints

import (
	"fmt"
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

// rule lists the allowed parts of the points of a kind. Package term has the actions.
type rule struct {
	kind             Kind
	who, what, where []string // nil: only a build knows the values
	// begins returns the state of the workload at which a fault begins; nil: a probe
	// decides.
	begins func(Point) string
}

var rules = []rule{
	{kind: RPC, who: []string{"containerd", "shim"}, what: Methods, where: []string{"entry", "exit"}},
	{kind: Proc, who: []string{"containerd", "shim", "sandbox", "task", "node"}, what: States, begins: Point.what},
	{kind: Sys, who: []string{"shim"}, what: Syscalls, where: States, begins: func(p Point) string { return p.Where }},
	{kind: IO, who: []string{"root"}, what: States, begins: Point.what},
	{kind: Stmt, who: []string{"containerd", "shim"}},
}

func (p Point) what() string { return p.What }

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
func (k Kind) Probed() bool { return ruleOf(k).who != nil && ruleOf(k).begins == nil }

// ParsePoint parses a point's name. Its error names the unknown part and the nearest
// known name.
func ParsePoint(s string) (Point, error) {
	parts := strings.Split(s, ":")
	r := ruleOf(Kind(parts[0]))
	if r.who == nil {
		var kinds []string
		for _, known := range rules {
			kinds = append(kinds, string(known.kind))
		}
		slices.Sort(kinds)
		return Point{}, spelling.Unknown("point "+quote(s)+": kind", parts[0], kinds)
	}
	if r.what == nil {
		return parseStmt(s, parts)
	}
	want := [][]string{r.who, r.what}
	if r.where != nil {
		want = append(want, r.where)
	}
	if len(parts) != 1+len(want) {
		return Point{}, fmt.Errorf(
			"point %s: an %s point has %d parts joined by colons, for example %s",
			quote(s),
			parts[0],
			1+len(want),
			r.example(),
		)
	}
	p := Point{Kind: r.kind}
	for i, field := range []*string{&p.Who, &p.What, &p.Where}[:len(want)] {
		if !slices.Contains(want[i], parts[i+1]) {
			return Point{}, spelling.Unknown("point "+quote(s)+": "+[]string{"process", "name", "side"}[i], parts[i+1], want[i])
		}
		*field = parts[i+1]
	}
	return p, nil
}

func (r rule) example() Point {
	p := Point{Kind: r.kind, Who: r.who[0], What: r.what[0]}
	if r.where != nil {
		p.Where = r.where[0]
	}
	return p
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
		for _, who := range r.who {
			for _, what := range r.what {
				if r.where == nil {
					all = append(all, Point{Kind: r.kind, Who: who, What: what})
				}
				for _, where := range r.where {
					all = append(all, Point{Kind: r.kind, Who: who, What: what, Where: where})
				}
			}
		}
	}
	return all
}

func quote(s string) string { return strconv.Quote(s) }
