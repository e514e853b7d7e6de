// Package behaviour describes how a fake shim misbehaves in ways that failpoints cannot
// produce: in its response to `start`, in its reports, and in how it ends.
//
// A fault at a ttrpc method (an error, a hang, a crash at entry or exit) is a failpoint
// instead.
package behaviour

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// Env is the environment variable with words for every shim that containerd starts.
	Env = "SHIMQUAKE_FAKESHIM"
	// Annotation is the OCI annotation with words for the shim of the bundle. Its words
	// follow the words of Env.
	Annotation = "shimquake.fakeshim"
)

// ErrWord matches every error of Parse.
var ErrWord = errors.New("not a behaviour of the fake shim")

// Act is a value of the keys start and cleanup, with its argument.
type Act struct {
	Name string        // Name is one of the acts in keys; "" is the proper behaviour.
	For  time.Duration // For is the time of late.
}

func (a Act) String() string {
	if a.Name == Late {
		return a.Name + "(" + a.For.String() + ")"
	}
	return a.Name
}

// Acts.
const (
	Hang   = "hang"   // never responds.
	Late   = "late"   // responds after a time, written late(500ms).
	Fail   = "fail"   // exits with status 1 and a message.
	Refuse = "refuse" // exits with status 1 before it has done anything
)

// Responses to `start`.
const (
	Garbage = "garbage" // bytes that no generation understands.
	Empty   = "empty"   // an empty response.
	Old     = "old"     // the bare address, as for containerd 1.6.
	Future  = "future"  // an unknown version.
	Nowhere = "nowhere" // the address of a socket that does not exist
)

// Event behaviours.
const (
	EventsNone   = "none"      // publishes nothing.
	EventsNoExit = "no-exit"   // publishes no exit.
	EventsNoDel  = "no-delete" // publishes no delete.
	EventsTwice  = "twice"     // publishes each exit twice
)

// Behaviour is a parsed list of words. Its zero value is a shim that behaves.
type Behaviour struct {
	Start     Act    // start=: what the start command does after the fork of the shim (refuse: before it).
	Cleanup   Act    // cleanup=: what the delete command does, by which containerd cleans up after a dead shim.
	Bootstrap string // bootstrap=: the response to start; "": the correct one.
	Shutdown  string // shutdown=ignore: Shutdown succeeds, and the shim keeps running.
	SIGTERM   string // sigterm=ignore: SIGTERM does nothing.
	Socket    string // socket=leave: the socket file stays when the shim ends.
	Events    string // events=: the published events.

	// Exit is the exit status in each kind of report that replaces the real one; see
	// Report.
	Exit map[Report]uint32
}

// Report is a place where an exit status is reported.
type Report string

// The reports; a word sets one, and exit= sets all.
const (
	InWait    Report = "wait"         // the reply to Wait.
	InDelete  Report = "delete"       // the reply to Delete and its event.
	InState   Report = "state"        // the reply to State.
	InEvent   Report = "event"        // the exit event.
	InCleanup Report = "cleanup-exit" // the response of the delete command.
)

var reports = []Report{InWait, InDelete, InState, InEvent, InCleanup}

// Noted returns the keys under which a use of a word is recorded (package proof). A word
// is recorded under its own key, except for exit, which stands for every report.
func Noted(word string) []string {
	key, _, _ := strings.Cut(word, "=")
	if key != "exit" {
		return []string{key}
	}
	noted := make([]string, len(reports))
	for i, r := range reports {
		noted[i] = string(r)
	}
	return noted
}

// keys are the values of each key, except for numbers.
var keys = map[string][]string{
	"start":     {Hang, Late, Fail, Refuse},
	"cleanup":   {Hang, Late, Fail},
	"bootstrap": {Garbage, Empty, Old, Future, Nowhere},
	"shutdown":  {"ignore"},
	"sigterm":   {"ignore"},
	"socket":    {"leave"},
	"events":    {EventsNone, EventsNoExit, EventsNoDel, EventsTwice},
}

// Words returns every key with its values, for a usage text.
func Words() []string {
	words := []string{"exit=N"}
	for _, r := range reports {
		words = append(words, string(r)+"=N")
	}
	for key, values := range keys {
		words = append(words, key+"="+strings.Join(values, "|"))
	}
	slices.Sort(words)
	return words
}

// Parse parses a comma list of words such as
// `bootstrap=garbage,shutdown=ignore,exit=99,start=late(500ms)`. A later word replaces an
// earlier one with the same key. The error matches ErrWord, and names the word and the
// known words.
func Parse(list string) (Behaviour, error) {
	var b Behaviour
	if strings.TrimSpace(list) == "" {
		return b, nil
	}
	for _, word := range strings.Split(list, ",") {
		if err := b.set(strings.TrimSpace(word)); err != nil {
			return Behaviour{}, fmt.Errorf("%w: %q: %w", ErrWord, word, err)
		}
	}
	return b, nil
}

// Join joins lists of words, which may be empty.
func Join(lists ...string) string {
	return strings.Join(slices.DeleteFunc(lists, func(l string) bool { return strings.TrimSpace(l) == "" }), ",")
}

func (b *Behaviour) set(word string) error {
	key, value, ok := strings.Cut(word, "=")
	if !ok {
		return fmt.Errorf("want key=value, of %s", strings.Join(Words(), ", "))
	}
	if key == "exit" || slices.Contains(reports, Report(key)) {
		return b.setExit(key, value)
	}
	values, ok := keys[key]
	if !ok {
		return fmt.Errorf("unknown key %q; want one of %s", key, strings.Join(Words(), ", "))
	}
	name, argument, _ := strings.Cut(value, "(")
	if !slices.Contains(values, name) || name != Late && name != value {
		return fmt.Errorf("unknown value %q; want %s=%s", value, key, strings.Join(values, "|"))
	}
	act := Act{Name: name}
	if name == Late {
		digits, closed := strings.CutSuffix(argument, ")")
		d, err := time.ParseDuration(digits)
		if !closed || err != nil || d < 0 || d > time.Hour {
			return errors.New("late needs a duration up to 1h, such as late(500ms)")
		}
		act.For = d
	}
	switch key {
	case "start":
		b.Start = act
	case "cleanup":
		b.Cleanup = act
	case "bootstrap":
		b.Bootstrap = name
	case "shutdown":
		b.Shutdown = name
	case "sigterm":
		b.SIGTERM = name
	case "socket":
		b.Socket = name
	case "events":
		b.Events = name
	}
	return nil
}

func (b *Behaviour) setExit(key, value string) error {
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return fmt.Errorf("an exit status is a number from 0 to %d", uint32(1<<32-1))
	}
	if b.Exit == nil {
		b.Exit = map[Report]uint32{}
	}
	for _, r := range reports {
		if key == "exit" || key == string(r) {
			b.Exit[r] = uint32(n)
		}
	}
	return nil
}

// Status returns the exit status to report: the real one, or the one of a word.
func (b Behaviour) Status(in Report, real uint32) uint32 {
	if wrong, ok := b.Exit[in]; ok {
		return wrong
	}
	return real
}
