package harness

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

const whole = `name: shutdown-error-once
about: "A sentence, with a colon: here."
issues: [8981, 4769]
containerd: v2.3.7
workload:
  api: task
  callTimeout: 500ms
  containers:
    - exit: 7
    - signal: SIGTERM
plan:
  - at: rpc:shim:Task.Shutdown:entry
    do: 1*pause
    meanwhile: [cancel call, sleep 2s, release]
bugs: [containerd-8981]
`

func TestParseCase(t *testing.T) {
	got, err := ParseCase("x.yaml", []byte(whole))
	want := Case{
		Name: "shutdown-error-once", About: "A sentence, with a colon: here.", Issues: []int{8981,
			4769}, Containerd: "v2.3.7",
		Workload: Workload{
			API:         TaskAPI,
			CallTimeout: 500 * time.Millisecond,
			Containers:  []Container{{Exit: 7}, {Signal: "SIGTERM"}},
		},
		Plan: failpoints.Plan{
			failpoints.PauseAt("rpc:shim:Task.Shutdown:entry", failpoints.Steps("cancel call", "sleep 2s", "release")...),
		},
		Bugs: []string{"containerd-8981"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Each test spoils the case in one place. The error names the place, and the right word.
func TestParseCaseErrors(t *testing.T) {
	for _, test := range []struct {
		name, old, with string
		line, column    int
		says            string
	}{
		{"a key", "workload:", "worklaod:", 5, 1, `key "worklaod" is unknown, did you mean "workload"?`},
		{"a nested key", "callTimeout: 500ms", "calltimeout: 500ms", 7, 3, `did you mean "callTimeout"?`},
		{"a container's key", "- exit: 7", "- exitt: 7", 9, 7, `did you mean "exit"?`},
		{"a fault's key", "    do: 1*pause", "    doo: 1*pause", 13, 5, `did you mean "do"?`},
		{"a bug's id", "[containerd-8981]", "[containerd#8981]", 15, 7, `bugs "containerd#8981": use only`},
		{"a point's method", "Task.Shutdown:entry", "Task.Shutdwon:entry", 12, 9, `did you mean "Task.Shutdown"?`},
		{"a point's kind", "rpc:shim", "rcp:shim", 12, 9, `did you mean "rpc"?`},
		{"an action", "1*pause", "1*puase", 13, 9, `pause`},
		{"an action that the point does not take", "1*pause", "1*kill", 13, 9, "takes off, crash, error"},
		{"a pause without steps", "    meanwhile: [cancel call, sleep 2s, release]\n", "", 13, 9, "a pause needs steps"},
		{"a step's verb", "cancel call", "cancle call", 14, 17, `did you mean "cancel"?`},
		{"a step's object", "cancel call", "cancel clint", 14, 17, `known: call`},
		{"a step's duration", "sleep 2s", "sleep 2", 14, 30, "expected a duration"},
		{"a duration", "500ms", "500", 7, 16, `callTimeout "500": expected a duration`},
		{"a negative duration", "500ms", "-1s", 7, 16, "expected a duration"},
		{"a type", "exit: 7", "exit: seven", 9, 13, "expected a number"},
		{"a list in place of a text", "name: shutdown-error-once", "name: [a]", 1, 7, "expected text"},
		{"an api", "api: task", "api: taks", 6, 8, `did you mean "task"?`},
		{"a signal", "SIGTERM", "SIGTEMR", 10, 7, "use SIGKILL, SIGTERM"},
		{"an exit status", "exit: 7", "exit: 256", 9, 7, "not between 0 and 255"},
		{"a signal of an image", "exit: 7", "signal: SIGUSR1", 9, 7, "api: cri"},
		{"a signal that the client does not send", "exit: 7", "ignoresTerm: true", 9, 7, "signal: SIGTERM"},
		{"a container that stays without a script", "exit: 7", "stays: true", 9, 7, "add script"},
		{"too little memory", "exit: 7", "memory: 8", 9, 7, "16 to 256 MiB"},
		{"an OOM kill without a limit", "exit: 7", "oom: child", 9, 7, "such as memory: 32"},
		{"another process", "exit: 7", "{memory: 32, oom: shim}", 9, 8, "init"},
		{"an init that is killed and exits", "exit: 7", "{exit: 7, memory: 32, oom: init}", 9, 8, "remove exit"},
		{"a container that is killed twice", "exit: 7", "{signal: SIGKILL, memory: 32, oom: child}", 9, 8,
			"remove signal"},
		{"an unknown kind of segfault", "exit: 7", "segfault: cor", 9, 7, `did you mean "core"?`},
		{"a container that segfaults and exits", "exit: 7", "{exit: 7, segfault: core}", 9, 8, "remove exit"},
		{"a terminal that is held", "exit: 7", "{tty: true, holdStdout: true}", 9, 8, "holdStdout"},
		{"a log of nothing", "exit: 7", "log: file", 9, 7, "add lines"},
		{"another log", "exit: 7", "{lines: 3, log: fiel}", 9, 8, `did you mean "file"?`},
		{"an absent command with an exit", "exit: 7", "{exit: 7, noSuchCommand: true}", 9, 8, "remove all other keys"},
		{"an output that the client does not read", "exit: 7", "{lines: 7000, unread: true}", 9, 8, "callTimeout: 20s"},
		{"too many children", "exit: 7", "children: 101", 9, 7, "1 to 100"},
		{"children beside a child that holds the output", "- exit: 7", "- {children: 1, holdStdout: true}", 9, 8,
			"holdStdout"},
		{"a name", "name: shutdown-error-once", "name: Shutdown Error", 1, 7, "lower-case"},
		{"a long name", "name: shutdown-error-once", "name: " + strings.Repeat("x", 201), 1, 7, "201 letters: at most 200"},
		{"no name", "name: shutdown-error-once\n", "", 0, 0, "name"},
		{"broken YAML", "plan:\n", "plan: [\n", 0, 0, ""},
		{"a tab", "  api: task", "\tapi: task", 6, 1, ""},
		{"two cases", "name: shutdown", "name: x\n---\nname: shutdown", 0, 0, "one case, but this one has 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(whole, test.old, test.with, 1)
			if text == whole {
				t.Fatal("the test spoils nothing")
			}
			_, err := ParseCase("x.yaml", []byte(text))
			var in *InputError
			if !errors.As(err, &in) {
				t.Fatalf("%v is no InputError", err)
			}
			if !strings.HasPrefix(err.Error(), "x.yaml:") || !strings.Contains(err.Error(), test.says) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: want one line that says %q", err, test.says)
			}
			if test.line != 0 && (in.Line != test.line || in.Column != test.column) {
				t.Errorf("%v: at %d:%d, want %d:%d", err, in.Line, in.Column, test.line, test.column)
			}
		})
	}
	for _, text := range []string{"", "\n", "# nothing\n", "7", "[]", "name"} {
		must.Fail(t, must.ErrorOf(ParseCase("x.yaml", []byte(text))), text, "is a case")
	}
}

// ParseCase returns all errors of a file at once.
func TestParseCaseReportsAllErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		lines []int
	}{
		"keys": {"nam: x\nworkload:\n  apii: task\nplan:\n- aat: x\n", []int{1, 3, 5}},
		"values": {"name: x\nworkload: {timeLimit: soon}\nplan:\n- at: rpc:shim:Task.Crate:entry\n  do: 1*errror(x)\n",
			[]int{2, 4, 5}},
		"fields": {"name: X\nworkload:\n  api: crii\n  settle: 2h\n", []int{1, 3, 4}},
		"steps":  {"name: x\nworkload:\n  api: cri\n  restart: true\n  rest: 2s\n", []int{4, 5}},
		"waits":  {"name: x\nworkload:\n  waiters: 21\n", []int{3}},
		"asked":  {"name: x\nworkload:\n  restart: true\n  waiters: 2\n", []int{3, 4}},
	} {
		_, err := ParseCase("x.yaml", []byte(tc.text))
		var lines []int
		if all, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range flat(all.Unwrap()) {
				lines = append(lines, e.Line)
			}
		}
		must.Equal(t, lines, tc.lines, name, "at lines", err)
	}
}

func flat(errs []error) (out []*InputError) {
	for _, e := range errs {
		var in *InputError
		if more, ok := e.(interface{ Unwrap() []error }); ok {
			out = append(out, flat(more.Unwrap())...)
		} else if errors.As(e, &in) {
			out = append(out, in)
		}
	}
	return out
}

// aFault draws a fault that a case may have.
func aFault(api API) *rapid.Generator[failpoints.Fault] {
	return rapid.Custom(func(t *rapid.T) failpoints.Fault {
		f := failpoints.Fault{At: rapid.SampledFrom(failpoints.Points()).Draw(t, "point")}
		clauses := rapid.SliceOfN(aClause(f.At.Kind), 1, 3).Draw(t, "clauses")
		for i := range clauses[:len(clauses)-1] {
			clauses[i].Count = max(clauses[i].Count, 1)
		}
		f.Do = term.Of(clauses...)
		if strings.Contains(f.Do.String(), "pause") {
			steps := rapid.SliceOfN(
				rapid.SampledFrom(
					[]string{"cancel call", "await removal", "kill shim", "start containerd", "sleep 1.5s", "release"},
				),
				1,
				4,
			)
			f.Meanwhile = failpoints.Steps(steps.Draw(t, "steps")...)
		}
		return f
	}).Filter(func(f failpoints.Fault) bool { return (f.At.Who != "sandbox" || api == CRI) && f.Check() == nil })
}

// aClause draws an action that points of a kind take, in all its forms.
func aClause(k failpoints.Kind) *rapid.Generator[term.Clause] {
	return rapid.Custom(func(t *rapid.T) term.Clause {
		c := rapid.SampledFrom(rapid.SampledFrom(k.Actions()).Draw(t, "action").Samples()).Draw(t, "sample")
		c.Count = rapid.IntRange(0, 3).Draw(t, "count")
		return c
	})
}

// enums are values of the keys that take a word.
var enums = map[string][]string{
	"api": {"", string(TaskAPI), string(CRI)}, "signal": {"", "SIGKILL", "SIGTERM", "SIGUSR1"},
	"log":        {"", string(LogFile), string(LogBinary)},
	"execSignal": {"", "SIGTERM", "SIGUSR1"},
	"oom":        {"", string(OOMInit), string(OOMChild)},
	"segfault":   {"", string(SegfaultCore), string(SegfaultBare)},
	"network":    {"", string(NodeNetwork), string(PodNetwork)},
	"fakeshim":   {"", "plain", "exit=137,events=twice"},
	"script": {"create c0", "start all", "mark running", "kill c0 SIGKILL", "wait all &", "join",
		"restart containerd"},
}

// fill draws the fields of a struct, in any order. It leaves out each value that the
// earlier fields exclude.
func fill(t *rapid.T, v reflect.Value, check func() error) {
	for _, f := range rapid.Permutation(reflect.VisibleFields(v.Type())).Draw(t, "order") {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		at := v.FieldByIndex(f.Index)
		draw(t, key, at, check)
		if check() != nil {
			at.SetZero()
		}
	}
}

func draw(t *rapid.T, key string, at reflect.Value, check func() error) {
	switch at.Kind() {
	case reflect.Bool:
		at.SetBool(rapid.Bool().Draw(t, key))
	case reflect.Int:
		at.SetInt(int64(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 255)).Draw(t, key)))
	case reflect.Int64: // a duration
		at.SetInt(int64(aDuration().Draw(t, key)))
	case reflect.String:
		at.SetString(rapid.SampledFrom(enums[key]).Draw(t, key)) // SampledFrom panics if enums lacks the key
	case reflect.Slice:
		if key == "script" && rapid.IntRange(0, 7).Draw(t, "scripted") > 0 {
			break // most keys exclude a script
		}
		if n := rapid.IntRange(0, 3).Draw(t, key); n > 0 { // a file without the key gives nil
			at.Set(reflect.MakeSlice(at.Type(), n, n))
		}
		for i := range at.Len() {
			draw(t, key, at.Index(i), check)
		}
	case reflect.Struct:
		fill(t, at, check)
	default:
		t.Fatalf("draw has no values for %s, a %s", key, at.Type())
	}
}

func aWorkload() *rapid.Generator[Workload] {
	return rapid.Custom(func(t *rapid.T) (w Workload) {
		fill(t, reflect.ValueOf(&w).Elem(), func() error { return Case{Name: "x", Workload: w}.Check() })
		return w
	})
}

// TestEveryKeyIsDrawn fails if no drawn case has some key, because then no test writes
// and reads it. The rarest key needs several other keys.
func TestEveryKeyIsDrawn(t *testing.T) {
	missing := map[string]bool{}
	for _, path := range []string{".workload", ".workload.containers"} {
		for _, key := range caseKeys[path].keys {
			missing[path+"."+key] = true
		}
	}
	note := func(path string, v reflect.Value) {
		for i, key := range caseKeys[path].keys {
			if !v.Field(i).IsZero() {
				delete(missing, path+"."+key)
			}
		}
	}
	for seed := 0; seed < 50_000 && len(missing) > 0; seed++ {
		w := aWorkload().Example(seed)
		note(".workload", reflect.ValueOf(w))
		for _, c := range w.Containers {
			note(".workload.containers", reflect.ValueOf(c))
		}
	}
	for key := range missing {
		t.Errorf("%s was never drawn: Check refuses each value that draw has", key)
	}
}

// aDuration also draws long durations: unread needs a callTimeout of 20s, and rapid
// prefers the small numbers of a range.
func aDuration() *rapid.Generator[time.Duration] {
	return rapid.Map(
		rapid.OneOf(rapid.IntRange(0, 10_000_000), rapid.IntRange(20_000_000, 60_000_000)),
		func(us int) time.Duration { return time.Duration(us) * time.Microsecond },
	)
}

// some draws a list. It returns nil for an empty list, as ParseCase does for a missing
// key.
func some[T any](t *rapid.T, g *rapid.Generator[T], name string) []T {
	all := rapid.SliceOfN(g, 0, 3).Draw(t, name)
	if len(all) == 0 {
		return nil
	}
	return all
}

func aCase(t *rapid.T) Case {
	c := Case{
		Name:       rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,20}`).Draw(t, "name"),
		About:      rapid.StringMatching(`[ -~äé日\n]{0,60}`).Draw(t, "about"),
		Issues:     some(t, rapid.IntRange(1, 99999), "issues"),
		Containerd: rapid.SampledFrom([]string{"", "v2.4.2", "bin:/usr/bin", "src:../containerd"}).Draw(t, "containerd"),
		Workload:   aWorkload().Draw(t, "workload"),
	}
	if plan := some(t, aFault(c.Workload.API), "plan"); plan != nil {
		c.Plan = plan
	}
	c.Workload.Bystander = c.Workload.Bystander && !c.Plan.OfNode()
	c.Bugs = some(t, rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,20}`), "bugs")
	return c
}

// A case is the same after it was written and read. The minimiser, sweeps and evidence
// rely on it.
func TestCaseRoundTrip(t *testing.T) { rapid.Check(t, roundTrip) }

func FuzzCaseRoundTrip(f *testing.F) { f.Fuzz(rapid.MakeFuzz(roundTrip)) }

func roundTrip(t *rapid.T) {
	c := aCase(t)
	must.Succeed(t, c.Check(), c)
	again, err := ParseCase("x.yaml", []byte(c.String()))
	must.Succeed(t, err, c)
	if !reflect.DeepEqual(again, c) {
		t.Fatalf("%#v\nwas written as\n%s\nand read as\n%#v", c, c, again)
	}
}

// For any content of a file ParseCase returns a valid case, or an error with a place.
func FuzzParseCase(f *testing.F) {
	f.Add(whole)
	f.Add("name: x\nplan:\n- at: io:root:running\n  do: 1*pressure(1MiB/s,1MiB)\n")
	f.Add("a: &a [*a]\n")
	f.Add("{name: x, <<: {about: y}}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCase("x.yaml", []byte(text))
		var in *InputError
		if err != nil && !errors.As(err, &in) {
			t.Errorf("%v is no InputError", err)
		}
		if err == nil && c.Check() != nil {
			t.Errorf("%q is read, and wrong: %v", text, c.Check())
		}
	})
}
