package probe

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Statement points. The package weave numbers the statements of a build. It puts At or
// AtCtx before each and Fn around calls that can fail, and makes every woven package
// register its names. A call of these functions costs one atomic load while no point is
// armed.

// statements has the actions for this process's statements; nil: nothing is armed.
var statements atomic.Pointer[statementTable]

// statementTable has the mode of each statement, by its number.
type statementTable struct {
	decider decider
	modes   []mode
	names   []string
	met     []*atomic.Bool // whether the statement's function has been reached; nil without cover
}

type mode uint8

const (
	silent   mode = iota
	met           // only the first hit in the function is reported.
	reported      // another statement of the function is armed, or the controller traces.
	decided       // the controller decides
)

// At is called before each statement.
func At(n int) {
	if t := statements.Load(); t != nil {
		t.pass(n, nil)
	}
}

// AtCtx is called before each statement that has a context in scope.
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
	if m == met {
		if !t.met[n].Load() && t.met[n].CompareAndSwap(false, true) {
			t.decider.seen(Hit{Point: t.names[n], Met: true})
		}
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

// end ends the context of a request. It tells the decider whether the statement's own
// context has ended with it.
func (t *statementTable) end(ctx context.Context, h Hit, root *rootContext, err error) {
	root.end(err)
	settle(ctx)
	h.At, h.Ctx, h.Ended = time.Now().UnixNano(), "", ctx.Err() != nil
	t.decider.seen(h)
}

// settle waits until the statement's own context has ended, too. A goroutine passes the
// end on to contexts of context.WithValue. A context of context.WithoutCancel never ends.
func settle(ctx context.Context) {
	if ctx.Done() == nil {
		return
	}
	timeout := time.NewTimer(20 * time.Millisecond)
	defer timeout.Stop()
	select {
	case <-ctx.Done():
	case <-timeout.C:
	}
}

// registry has the names of the woven packages that this process links.
var registry struct {
	sync.Mutex
	names     []string // by number; "" for numbers of another process
	wanted    map[string]bool
	functions map[string]bool // of the wanted points of this process
	trace     bool
	cover     bool
	met       map[string]*atomic.Bool // by function, see statementTable
}

// Register adds the names of a woven package's statements, which are numbered from base.
// It returns their number.
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

// armStatements sets the armed points. trace reports every statement, and cover reports
// each function once.
func armStatements(points map[string]bool, trace, cover bool) {
	registry.Lock()
	defer registry.Unlock()
	registry.wanted, registry.trace, registry.cover, registry.functions = points, trace, cover, map[string]bool{}
	for p := range points {
		if strings.HasPrefix(p, own()) {
			registry.functions[function(p)] = true
		}
	}
	rebuild(0, len(registry.names))
}

// own returns the prefix of the names of this process's statements.
func own() string { return "stmt:" + self + ":" }

// rebuild makes a new table of modes after a change of the numbers in [from, to). It
// copies the other modes, because packages register one by one at the start of each
// process. registry is locked. If daemon and shim both link a package, only the process
// to which a point belongs reports it.
func rebuild(from, to int) {
	d := current.Load()
	if d == nil || len(registry.functions) == 0 && !registry.trace && !registry.cover {
		statements.Store(nil)
		return
	}
	t := &statementTable{decider: *d, modes: make([]mode, len(registry.names)), names: registry.names,
		met: make([]*atomic.Bool, len(registry.names))}
	if old := statements.Load(); old != nil {
		copy(t.modes, old.modes)
		copy(t.met, old.met)
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
		case registry.cover:
			t.modes[from+n], t.met[from+n] = met, metFlag(function(name))
		}
	}
	statements.Store(t)
}

// metFlag returns the flag of a function. registry is locked.
func metFlag(function string) *atomic.Bool {
	if registry.met == nil {
		registry.met = map[string]*atomic.Bool{}
	}
	if registry.met[function] == nil {
		registry.met[function] = new(atomic.Bool)
	}
	return registry.met[function]
}

// function returns a statement point's name without the statement.
func function(point string) string { return point[:strings.LastIndexByte(point, ':')] }

// DecidedAt reports whether a term is decided at this hit of a statement. An error is
// decided at the call that it replaces. The end of a context is decided at a statement
// with such a context. All other actions are decided at each statement.
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
