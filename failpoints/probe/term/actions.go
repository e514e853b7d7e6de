package term

import (
	"slices"
	"strconv"
	"strings"
)

// Action is the effect of a fault at a hit.
type Action string

// The actions.
const (
	Off      Action = "off"        // no effect.
	Crash    Action = "crash"      // the process sends SIGKILL to itself.
	Error    Action = "error"      // the call fails: with a code (NotFound), an errno (ENOSPC) or a text.
	Lose     Action = "loseResult" // the handler runs, its reply is dropped.
	Cancel   Action = "cancel"     // the call continues with a cancelled context.
	Deadline Action = "deadline"   // the call continues with a context whose deadline has passed.
	Panic    Action = "panic"      // the goroutine panics with the argument as its text.
	Close    Action = "close"      // the connection is closed.
	Hang     Action = "hang"       // the call blocks until its context ends.
	Delay    Action = "delay"      // the call is held for the argument's milliseconds, whatever its context says.
	Pause    Action = "pause"      // the call waits for its release, and fails if its context has ended by then.
	Kill     Action = "kill"       // SIGKILL from outside.
	Stop     Action = "stop"       // SIGSTOP from outside.
	Continue Action = "cont"       // SIGCONT from outside.
	Reboot   Action = "reboot"     // a node restarts: processes, mounts, cgroups and files of /run are gone.
	Pressure Action = "pressure"   // writes are slow, and another process dirties pages: pressure(RATE,SIZE).
)

// Moment names the hits of a statement that an action counts.
type Moment string

// The moments of a statement.
const (
	AtStatement Moment = "statement" // before the statement
	AtCall      Moment = "call"      // at the call whose error is replaced
	AtCancel    Moment = "cancel"    // at statements whose request a client can end
	AtDeadline  Moment = "deadline"  // at statements whose request can time out
)

// syntax has the kinds of points that take an action, and the argument of the action.
type syntax struct {
	action Action
	at     string // the kinds of points that take the action
	moment Moment // at a statement; empty: AtStatement
	// arg makes an argument canonical, or returns the expected form; nil: there is no
	// argument.
	arg func(string) (text, want string)
	// needs names the missing argument in the error; empty: the argument is optional.
	needs string
	// samples are arguments of every form, for tests.
	samples []string
}

// actions lists all actions. The best-known actions come first, because lists of actions
// keep this order.
var actions = []syntax{
	{action: Off, at: "rpc stmt proc io"},
	{action: Crash, at: "rpc stmt"},
	{action: Error, at: "rpc stmt", moment: AtCall, arg: failure,
		samples: []string{"a: b", "# 'x", "#", " x ", "a (b)", "NotFound", "ENOSPC"}},
	{action: Lose, at: "rpc stmt", moment: AtCall},
	{action: Cancel, at: "rpc stmt", moment: AtCancel},
	{action: Deadline, at: "rpc stmt", moment: AtDeadline},
	{action: Panic, at: "rpc stmt", arg: text, samples: []string{"a: 'b"}},
	{action: Close, at: "rpc"},
	{action: Hang, at: "rpc"},
	{action: Delay, at: "rpc stmt sys", arg: millis, needs: "(MILLISECONDS) after delay",
		samples: []string{"20", "2s"}},
	{action: Pause, at: "rpc stmt"},
	{action: Kill, at: "proc"},
	{action: Stop, at: "proc"},
	{action: Continue, at: "proc"},
	{action: Reboot, at: "proc"},
	{action: Pressure, at: "io", arg: rates, needs: "(RATE,SIZE) after pressure, for example (4MiB/s,60MiB)",
		samples: []string{"4MiB/s,60MiB", "2/s,0"}},
}

func (a Action) syntax() (syntax, bool) {
	i := slices.IndexFunc(actions, func(t syntax) bool { return t.action == a })
	if i < 0 {
		return syntax{}, false
	}
	return actions[i], true
}

// Moment returns which hits of a statement the action counts.
func (a Action) Moment() Moment {
	if t, _ := a.syntax(); t.moment != "" {
		return t.moment
	}
	return AtStatement
}

// Samples returns clauses with the action, one for each form of its argument.
func (a Action) Samples() (all []Clause) {
	t, _ := a.syntax()
	if t.needs == "" {
		all = append(all, Clause{Action: a})
	}
	for _, s := range t.samples {
		all = append(all, Clause{Action: a, Arg: s})
	}
	return all
}

// Actions returns the actions that points of the given kinds support. Without a kind it
// returns all actions.
func Actions(kinds ...string) (all []Action) {
	for _, t := range actions {
		at := strings.Fields(t.at)
		if len(kinds) == 0 || slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(at, k) }) {
			all = append(all, t.action)
		}
	}
	return all
}

func failure(s string) (string, string) { return s, misspelt(s) }

func text(s string) (string, string) { return s, "" }

func millis(s string) (string, string) {
	d, err := parseMillis(s)
	if err != nil {
		return "", "milliseconds as a whole number (250), or a duration (2s)"
	}
	return strconv.FormatInt(d.Milliseconds(), 10), ""
}

func rates(s string) (string, string) {
	if _, _, err := ParsePressure(s); err != nil {
		return "", "RATE,SIZE such as 4MiB/s,60MiB, with a size of at most 1GiB"
	}
	return s, ""
}
