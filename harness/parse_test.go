package harness

import (
	"fmt"

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
	must.Edits(t, "testdata/misread.txt", whole, func(text string) string {
		_, err := ParseCase("x.yaml", []byte(text))
		var bad *InputError
		if !errors.As(err, &bad) {
			t.Fatalf("%v is no InputError", err)
		}
		return fmt.Sprintf("%d:%d: %v", bad.Line, bad.Column, err)
	})
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
