package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/must"
)

func TestTypedErrors(t *testing.T) {
	moments := map[string]term.Moment{"call": term.AtCall, "statement": term.AtStatement, "cancel": term.AtCancel,
		"method": AtMethod}
	must.Table(t, "testdata/typed.txt", func(in string) string {
		words := strings.Split(in+"  ", " ")
		p := Hit{Point: failpoints.MustPoint(words[0]), Moment: moments[words[1]], Callee: words[2]}
		codes, errnos := p.faults(Code), p.faults(Errno)
		if p.Takes(Code) != (len(codes) > 0) || p.Takes(Errno) != (len(errnos) > 0) {
			t.Errorf("%s: takes a code %v, an errno %v", in, p.Takes(Code), p.Takes(Errno))
		}
		return strings.Join(append(codes, errnos...), " ")
	})
}

// Each line has a reason, and names typed errors only: a bare text would be an error that
// no callee returns.
func TestTheLinesOfTypedErrors(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range slices.Concat(typedErrors.Answers, typedErrors.Returns) {
		if seen[f.Who] || len(f.Because) == 0 || len(f.With) == 0 {
			t.Errorf("%s: a second line, or one without errors or a reason: %+v", f.Who, f)
		}
		seen[f.Who] = true
		for _, name := range f.With {
			if w := word("error(" + name + ")"); w != Code && w != Errno {
				t.Errorf("%s: %s is neither a class nor an errno", f.Who, name)
			}
		}
	}
	for action, want := range map[string]string{
		"error(NotFound)": Code, "error(ENOSPC)": Errno, "error(x)": "error", "error": "error", "crash": "crash",
		"panic(NotFound)": "panic", "delay(20)": "delay",
	} {
		must.Equal(t, word(action), want, action)
	}
}

// Each typed error at a hit is a case with a name of its own, and it happens at the call.
func TestTypedErrorsArePlanned(t *testing.T) {
	run := []Hit{
		{Point: failpoints.MustPoint(called), Moment: term.AtCall, Nth: 1, Path: "create", Callee: "os.Mkdir"},
		{Point: failpoints.MustPoint("rpc:containerd:Task.Delete:exit"), Moment: AtMethod, Nth: 1, Path: "delete"},
	}
	p := must.Get(New(Options{}, []Traces{{Workload: "task", Runs: [][]Hit{run}}}))(t)
	typed, names := 0, map[string]bool{}
	for _, s := range p.Specs {
		c, err := s.Case("")
		if err != nil || names[c.Name] {
			t.Errorf("%s: %v, or a name that another case has", c.Name, err)
		}
		names[c.Name] = true
		if f := s.Last(); f.Word() == Code || f.Word() == Errno {
			typed++
			bare := f
			bare.Action = "error(x)"
			must.Equal(t, f.HitKey(), bare.HitKey(), f, "does not happen at the moment of a bare error")
		}
	}
	must.Equal(t, typed, 5, "typed errors, 2 and 3, of", p.Specs)
}

// The default sweep of the newest release passes a call of every line. If a release
// renames a callee, its errors would silently be left out.
func TestEachCalleeIsMet(t *testing.T) {
	r := runner.Runner{Residues: catalogue.Residues()}
	if err := r.Prepare(t.Context(), ""); runner.IsUnsupported(err) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, f := range slices.Concat(typedErrors.Answers, typedErrors.Returns) {
		missing[f.Who] = true
	}
	for _, name := range DefaultWorkloads() {
		passes := must.Get(hitsOf(t, &r, name))(t)
		for _, p := range passes {
			for _, f := range p.fails() {
				delete(missing, f.Who)
			}
		}
	}
	for who := range missing {
		t.Errorf("no workload of the default sweep passes a call of %s", who)
	}
}
