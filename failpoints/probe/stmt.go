package probe

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Statement points. weave numbers the statements of a build, puts At or AtCtx before each
// and Fn around calls that can fail, and has every woven package register its names. As
// long as nothing is armed, each of them is one atomic load.

// statements is what is armed among the statements of this process; nil: nothing is.
var statements atomic.Pointer[statementTable]

// statementTable says what to do at each statement, by its number.
type statementTable struct {
	decider decider
	modes   []mode
	names   []string
}

type mode uint8

const (
	silent   mode = iota
	reported      // the controller hears of it, because another statement of the function is armed, or because it traces
	decided       // the controller is asked
)

// At is a statement that is about to run.
func At(n int) {
	if t := statements.Load(); t != nil {
		t.pass(n, nil)
	}
}

// AtCtx is a statement that is about to run and has a context in scope.
func AtCtx(n int, ctx context.Context) { //nolint:revive // the number is first in all calls that weave makes
	if t := statements.Load(); t != nil {
		t.pass(n, ctx)
	}
}

func (t *statementTable) mode(n int) mode {
	if n < 0 || n >= len(t.modes) {
		return silent
	}
	return t.modes[n]
}

func (t *statementTable) pass(n int, ctx context.Context) { //nolint:revive // as in AtCtx
	m := t.mode(n)
	if m == silent {
		return
	}
	root := rootOf(ctx)
	h := Hit{Point: t.names[n], At: time.Now().UnixNano(), Ctx: root.open()}
	if m == reported {
		t.decider.seen(h)
		return
	}
	a := t.decider.ask(h)
	clause := term.Clause{Action: term.Action(a.Do), Arg: a.Arg}
	switch clause.Action {
	case term.Panic:
		panic(clause.Text())
	case term.Delay:
		time.Sleep(clause.Delay()) //nolint:forbidigo // a fault's purpose, not a wait for an event
	case term.Crash:
		Crash()
	case term.Cancel:
		t.end(ctx, h, root, context.Canceled)
	case term.Deadline:
		t.end(ctx, h, root, context.DeadlineExceeded)
	}
}

// end ends a request, and reports whether the context at hand has ended with it.
func (t *statementTable) end(ctx context.Context, h Hit, root *endable, err error) {
	root.end(err)
	settle(ctx)
	h.At, h.Ctx, h.Ended = time.Now().UnixNano(), "", ctx.Err() != nil
	t.decider.seen(h)
}

// settle waits until the end of a request has come to the context at hand: one that was
// derived by way of context.WithValue learns of it by a goroutine. One that is kept from
// it by context.WithoutCancel never does.
func settle(ctx context.Context) {
	if ctx.Done() == nil {
		return
	}
	patience := time.NewTimer(20 * time.Millisecond)
	defer patience.Stop()
	select {
	case <-ctx.Done():
	case <-patience.C:
	}
}

// registry holds the names of the woven packages that this process links.
var registry struct {
	sync.Mutex
	names     []string // by number; "" where another process has the number
	wanted    map[string]bool
	functions map[string]bool // those of the wanted points that are this process's
	trace     bool
}

// Register takes the names of a woven package's statements, which are numbered from base.
// It returns how many they are.
func Register(base int, names []string) int {
	registry.Lock()
	defer registry.Unlock()
	if more := base + len(names) - len(registry.names); more > 0 {
		registry.names = append(registry.names, make([]string, more)...)
	}
	copy(registry.names[base:], names)
	rebuild(base, base+len(names))
	return len(names)
}

// armStatements says which points are armed; trace has every statement reported.
func armStatements(points map[string]bool, trace bool) {
	registry.Lock()
	defer registry.Unlock()
	registry.wanted, registry.trace, registry.functions = points, trace, map[string]bool{}
	for p := range points {
		if strings.HasPrefix(p, own()) {
			registry.functions[function(p)] = true
		}
	}
	rebuild(0, len(registry.names))
}

// own begins the names of this process's statements.
func own() string { return "stmt:" + self + ":" }

// rebuild makes the table of what is armed, of which the numbers in [from, to) have
// changed: packages register one by one while the process starts, and it starts in every
// case. registry is locked. A package that is linked into daemon and shim is reported
// where its points belong.
func rebuild(from, to int) {
	d := current.Load()
	if d == nil || len(registry.functions) == 0 && !registry.trace {
		statements.Store(nil)
		return
	}
	t := &statementTable{decider: *d, modes: make([]mode, len(registry.names)), names: registry.names}
	if old := statements.Load(); old != nil {
		copy(t.modes, old.modes)
	} else {
		from, to = 0, len(registry.names)
	}
	prefix := own()
	for n, name := range registry.names[from:to] {
		t.modes[from+n] = silent
		switch {
		case !strings.HasPrefix(name, prefix):
		case registry.wanted[name]:
			t.modes[from+n] = decided
		case registry.trace || registry.functions[function(name)]:
			t.modes[from+n] = reported
		}
	}
	statements.Store(t)
}

// function is a statement point's name without the statement.
func function(point string) string { return point[:strings.LastIndexByte(point, ':')] }

// DecidedAt reports whether a term is decided at this hit of a statement: what replaces a
// call's error at the call, what ends a context where there is one that can be ended so,
// and all else at the statement.
func DecidedAt(t term.Term, h Hit) bool {
	switch t.Moment() {
	case term.AtCall:
		return h.Call
	case term.AtCancel:
		return !h.Call && h.Ctx == ByCaller
	case term.AtDeadline:
		return !h.Call && h.Ctx != ""
	}
	return !h.Call
}
