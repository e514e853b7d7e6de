package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
)

// tracer tells what is passed, by the faults of a case: of none, or of one.
type tracer struct {
	engine
	passes map[string][]harness.Pass
}

func (e *tracer) Trace(_ context.Context, c harness.Case) (harness.Trace, error) {
	passes, ok := e.passes[c.Plan.String()]
	if !ok {
		return harness.Trace{Verdict: harness.Verdict{Outcome: harness.Invalid}}, errors.New("it did not fire")
	}
	return harness.Trace{Passes: passes, Verdict: harness.Verdict{Outcome: harness.Held}}, nil
}

// went is a passing of a point for the n-th time.
func went(point string, nth int, path string) harness.Pass {
	return harness.Pass{Point: failpoints.MustPoint(point), Nth: nth, Path: path}
}

const (
	forks   = "stmt:containerd:runtime.binary.Start:out-err-cmd.CombinedOutput"
	parses  = "stmt:containerd:runtime.binary.Start:parse"
	removes = "stmt:containerd:runtime.Bundle.Delete:remove"
	removed = "stmt:containerd:runtime.Bundle.Delete:removed"
	loads   = "stmt:containerd:runtime.loadShim:load"
	boot    = "stmt:containerd:runtime.init:boot"
	creates = "rpc:containerd:Task.Create:entry"
	serves  = "rpc:shim:Task.Create:entry"
	deletes = "rpc:shim:Task.Delete:entry"
	answers = "rpc:containerd:Task.Delete:exit"
)

func texts(all []Spec) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.String()
	}
	return out
}

func TestRecoveryCrashesEachPointOfARecovery(t *testing.T) {
	plain := []harness.Pass{went(boot, 1, "load"), went(forks, 1, "create"), went(parses, 1, "create"), went(removes, 1, "delete")}
	e := &tracer{passes: map[string][]harness.Pass{
		"":                 plain,
		forks + " 1*crash": append(plain[:2:2], went(boot, 2, "load"), went(loads, 1, "load"), went(removes, 1, "delete")),
		// What comes after this one comes after the first, too: it adds nothing.
		parses + " 1*crash": append(plain[:3:3], went(boot, 2, "load"), went(loads, 1, "load")),
		// removes is not reached again: it is planned alone, if at all.
	}}
	got, err := (&pairing{ctx: t.Context(), engine: e}).recovery()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		loads + " crash, load of task + " + forks + " crash, create",
		removes + " crash, delete of task + " + forks + " crash, create",
	}
	if !slices.Equal(texts(got), want) {
		t.Errorf("%s\nwant\n%s", strings.Join(texts(got), "\n"), strings.Join(want, "\n"))
	}
}

func TestShimPairsGoInEitherOrder(t *testing.T) {
	plain := []harness.Pass{went(creates, 1, "create"), went(serves, 1, "create"), went(deletes, 1, "delete")}
	e := &tracer{passes: map[string][]harness.Pass{
		"":                   plain,
		creates + " 1*crash": {plain[0], went(boot, 2, "load"), went(deletes, 1, "load")},
		serves + " 1*crash":  {plain[0], plain[1], went(removes, 1, "create"), went(removed, 1, "create"), went(deletes, 1, "delete")},
	}}
	got, err := (&pairing{ctx: t.Context(), engine: e}).shim()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		deletes + " crash, load of task + " + creates + " crash, create",
		removes + " crash, create of task + " + serves + " crash, create",
		removed + " crash, create of task + " + serves + " crash, create",
		deletes + " crash, delete of task", // its own trace was not there: the report must tell
	}
	if !slices.Equal(texts(got), want) {
		t.Errorf("%s\nwant\n%s", strings.Join(texts(got), "\n"), strings.Join(want, "\n"))
	}
}

func TestClientsPairs(t *testing.T) {
	held := "stmt:shim:runc-task.service.Delete:if-err-nil"
	e := &tracer{passes: map[string][]harness.Pass{"": {
		went(boot, 1, "load"), went(creates, 1, "create"), went(deletes, 1, "delete"), went(held, 1, "delete"), went(deletes, 2, "delete"), went(held, 2, "delete"), went(loads, 1, "delete"),
		went(answers, 1, "delete"), went(removes, 1, "delete")}}}
	w := &pairing{ctx: t.Context(), engine: e}
	retry, err := w.retry()
	deleters, err2 := w.deleters()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range append(retry, deleters...) {
		c, err := s.Case("")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s of %s", c.Plan, s.Workload))
	}
	want := []string{
		creates + " 1*pause [cancel client, await client, release] of task", creates + " 1*pause [cancel client, await client, wait 100ms, release] of task",
		deletes + " 1*pause [cancel client, await client, release] of task", deletes + " 1*pause [cancel client, await client, wait 100ms, release] of task",
		held + " 1*pause [cancel client, await client, release] of task",
		answers + " 1*pause [cancel client, await client, release] of task", answers + " 1*pause [cancel client, await client, wait 100ms, release] of task",
		deletes + " 1*pause [await client, release] of deleters", held + " 1*pause [await client, release] of deleters",
		deletes + " 1*off->1*pause [await client, release] of deleters", loads + " 1*pause [await client, release] of deleters",
		answers + " 1*pause [await client, release] of deleters",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAPointIsPairedWithAFewFirstsOnly(t *testing.T) {
	var all []after
	for i := range 5 {
		first := Spec{Point: forks, Nth: i + 1, Action: "crash", Path: "create", Workload: "task"}
		all = append(all, after{first, [][]Pass{{pass(loads, atStatement, 1, "load")}, {pass(loads, atStatement, 1+i%2, "load")}}})
	}
	got := pairUp(all, "crash", recovers, func(Pass) int { return 2 })
	if len(got) != 2 || got[0].Unsteady || !got[1].Unsteady || got[0].Also == got[1].Also {
		t.Errorf("%+v", got)
	}
}

func TestUnknownPairs(t *testing.T) {
	_, err := MakePairs(t.Context(), &tracer{}, Options{}, []string{"recover"})
	var u *failpoints.UnknownError
	if !errors.As(err, &u) || u.Nearest != "recovery" {
		t.Errorf("%v", err)
	}
}

// aDeed draws a fault at a method.
func aDeed() *rapid.Generator[Deed] {
	return rapid.Custom(func(t *rapid.T) Deed {
		return Deed{rapid.SampledFrom([]string{creates, serves, deletes, forks, loads}).Draw(t, "point"), rapid.IntRange(1, 5).Draw(t, "hit"),
			rapid.SampledFrom([]string{"crash", "delay(20)", "pause"}).Draw(t, "action"), rapid.SampledFrom(Paths).Draw(t, "path"), ""}
	})
}

func TestSpecsOfSeveralFaultsComeBackFromJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(aDeed(), 1, mostFaults).Draw(t, "faults")
		own := all[len(all)-1]
		s := Spec{Point: own.Point, Nth: own.Nth, Action: own.Action, Path: own.Path, Workload: "grouped"}
		copy(s.Also[:], all[:len(all)-1])
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Spec
		if err := json.Unmarshal(text, &back); err != nil || back != s {
			t.Fatalf("%s: %+v, %v", text, back, err)
		}
		c, err := s.Case("v2.4.2")
		if err != nil || c.Check() != nil || len(c.Plan) != len(all) || len(c.Name) > 180 {
			t.Fatalf("%s: %v, %v", c, err, c.Check())
		}
		again, err := harness.ParseCase("x", []byte(c.String()))
		if err != nil || again.Plan.String() != c.Plan.String() || !covers(s, again) {
			t.Fatalf("%s: %v", again, err)
		}
	})
	var o Others
	if err := json.Unmarshal([]byte(`[{},{},{},{}]`), &o); err == nil {
		t.Error("five faults are too many")
	}
}

// A pair is explained by what is known of either of its faults.
func TestAPairIsKnownByEitherFault(t *testing.T) {
	s := Spec{Point: loads, Nth: 1, Action: "crash", Path: "load", Workload: "task"}
	s.Also[0] = Deed{Point: forks, Nth: 1, Action: "crash", Path: "create"}
	for where, want := range map[string]bool{"containerd runtime.binary.*": true, "containerd runtime.loadShim": true, "shim *": false} {
		if got := appliesAt(catalogue.Finding{Where: []string{where}}, s); got != want {
			t.Errorf("%s: %v", where, got)
		}
	}
	s.Also[0].Action, s.Action = "error(x)", "error(x)"
	if appliesAt(catalogue.Finding{Where: []string{"containerd runtime.binary.*"}, Paths: []string{"load"}}, s) {
		t.Error("place and path must be of one fault")
	}
	if s.Action = "crash"; !appliesAt(catalogue.Finding{Where: []string{"containerd runtime.binary.*"}, Paths: []string{"load"}}, s) {
		t.Error("a fault beside a crash may come while containerd loads")
	}
}

// For real: what a client that cancels its delete and comes back meets on the newest release.
func TestRetriesOfTheNewestRelease(t *testing.T) {
	_, r := sweptPlan(t, func(ctx context.Context, e Engine) (Plan, error) {
		return MakePairs(ctx, e, Options{Points: regexp.MustCompile("^rpc:shim:Task.(Delete|Shutdown):entry$")}, []string{"retry"})
	}, "")
	if r.Planned != 4 || r.Fired != r.Planned || r.Violated != 0 {
		t.Errorf("a cancelled delete is retried until it is done:\n%s", r)
	}
}
