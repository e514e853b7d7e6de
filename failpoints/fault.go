package failpoints

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Fault is an action at a point. A fault with a pause has the steps that the harness
// takes while the process waits.
type Fault struct {
	At        Point
	Do        term.Term
	Meanwhile []Step
}

// Plan has all faults of a case.
type Plan []Fault

func (f Fault) String() string {
	s := f.At.String() + " " + f.Do.String()
	if len(f.Meanwhile) > 0 {
		steps := make([]string, len(f.Meanwhile))
		for i, st := range f.Meanwhile {
			steps[i] = st.String()
		}
		s += " [" + strings.Join(steps, ", ") + "]"
	}
	return s
}

func (p Plan) String() string {
	parts := make([]string, len(p))
	for i, f := range p {
		parts[i] = f.String()
	}
	return strings.Join(parts, "; ")
}

// OfNode reports whether a fault acts on the whole node, and so on every process.
func (p Plan) OfNode() bool {
	return slices.ContainsFunc(p, func(f Fault) bool { return f.At.Who == "node" })
}

// Check returns an error if the point does not support the term's actions, or if the
// fault has only one of steps and a pause.
func (f Fault) Check() error {
	takes := f.At.Kind.Actions()
	pauses := false
	clauses := f.Do.Clauses()
	for _, c := range clauses {
		if !slices.Contains(takes, c.Action) {
			names := make([]string, len(takes))
			for i, a := range takes {
				names[i] = string(a)
			}
			return fmt.Errorf("%s: a point of kind %s takes %s, not %s", f.At, f.At.Kind, strings.Join(names, ", "), c.Action)
		}
		if f.At.Who == "node" && c.Action == term.Continue {
			return fmt.Errorf("%s: a node takes kill (all processes end), stop (its shims are asked to end)"+
				" and reboot, not cont", f.At)
		}
		if f.At.Who != "node" && c.Action == term.Reboot {
			return fmt.Errorf("%s: only a node can reboot: proc:node:%s", f.At, f.At.What)
		}
		if c.Count > 0 && f.At.Kind == Sys {
			return fmt.Errorf("%s: strace counts per thread, so a sys point takes no count: leave out %d*", f.At, c.Count)
		}
		if c.Action == term.Delay && c.Delay() == 0 {
			return fmt.Errorf("%s: delay(0) does nothing: give it a time, such as delay(200ms)", f.At)
		}
		pauses = pauses || c.Action == term.Pause
	}
	if f.At.Kind == Stmt {
		if err := decidedTogether(f); err != nil {
			return err
		}
	}
	if pauses != (len(f.Meanwhile) > 0) {
		if pauses {
			return fmt.Errorf("%s: a pause needs steps to take while it holds (meanwhile: [kill containerd, release])", f.At)
		}
		return fmt.Errorf("%s: steps need a pause to run in (do: 1*pause)", f.At)
	}
	return nil
}

// decidedTogether rejects a term whose clauses are decided at different hits of a
// statement. These are the hits of the statement, of its call, and of contexts that can
// be ended. One count for different kinds of hits would mean nothing.
func decidedTogether(f Fault) error {
	var first term.Action
	for _, c := range f.Do.Clauses() {
		if c.Action == term.Off {
			continue
		}
		if first != "" && first.Moment() != c.Action.Moment() {
			return fmt.Errorf("%s: %s and %s are decided at different moments of a statement: make two faults of them",
				f.At, first, c.Action)
		}
		first = c.Action
	}
	return nil
}

// MustPoint parses a name in source code. It panics if ParsePoint returns an error.
func MustPoint(s string) Point {
	p, err := ParsePoint(s)
	if err != nil {
		panic(err)
	}
	return p
}

// Error makes the first n hits of a point fail with text; n == 0 means every hit.
func Error(at string, n int, text string) Fault {
	return Fault{At: MustPoint(at), Do: term.Of(term.Clause{Count: n, Action: term.Error, Arg: text})}
}

// Once makes an action without argument happen at the first hit.
func Once(at string, a term.Action) Fault { return Nth(at, 1, a, "") }

// Nth makes an action happen at the n-th hit, once.
func Nth(at string, n int, a term.Action, arg string) Fault {
	clauses := []term.Clause{{Count: 1, Action: a, Arg: arg}}
	if n > 1 {
		clauses = append([]term.Clause{{Count: n - 1, Action: term.Off}}, clauses...)
	}
	return Fault{At: MustPoint(at), Do: term.Of(clauses...)}
}

// Crash makes the process that passes the point for the n-th time send SIGKILL to itself.
func Crash(at string, n int) Fault { return Nth(at, n, term.Crash, "") }

// PauseAt holds the first hit of a point while the steps run.
func PauseAt(at string, steps ...Step) Fault { return PauseNth(at, 1, steps...) }

// PauseNth holds the n-th hit of a point while the steps run.
func PauseNth(at string, n int, steps ...Step) Fault {
	f := Nth(at, n, term.Pause, "")
	f.Meanwhile = steps
	return f
}

// Kill sends SIGKILL to a process (proc point) when the workload reaches the point's
// state.
func Kill(at string) Fault { return Once(at, term.Kill) }

// SlowSyscall delays every call of a sys point by d.
func SlowSyscall(at string, d time.Duration) Fault {
	return Fault{At: MustPoint(at), Do: term.Of(term.Clause{Action: term.Delay, Arg: fmt.Sprint(d.Milliseconds())})}
}

// Pressure limits writes to the filesystem of containerd's root and dirties pages there;
// the argument is that of term.ParsePressure, such as "4MiB/s,60MiB".
func Pressure(at, rates string) Fault { return Nth(at, 1, term.Pressure, rates) }
