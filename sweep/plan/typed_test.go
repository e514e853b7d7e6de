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

const module = "github.com/containerd/containerd/v2/"

func TestTypedErrors(t *testing.T) {
	const stmt = "stmt:containerd:runtime.NewBundle:x"
	for _, c := range []struct {
		at     string
		moment term.Moment
		callee string
		codes  string
		errnos string
	}{
		{stmt, term.AtCall, "os.Mkdir", "", "ENOSPC EEXIST"},
		{stmt, term.AtCall, "os.WriteFile", "", "ENOSPC"},
		{stmt, term.AtCall, module + "pkg/os.OS.MkdirAll", "", "ENOSPC"},
		{stmt, term.AtCall, "github.com/containerd/containerd/mount.UnmountRecursive", "", "EBUSY"}, // 1.7
		{stmt, term.AtCall, "os/exec.(*Cmd).Start", "", "EMFILE"},
		{stmt, term.AtCall, module + "core/runtime.(*NSMap[...]).Get", "NotFound", ""},
		{stmt, term.AtCall, module + "client.Container.NewTask", "AlreadyExists", ""},

		{stmt, term.AtCall, "", "", ""},
		{stmt, term.AtCall, "os.Getwd", "", ""},
		{stmt, term.AtCall, "os.MkdirAllX", "", ""},
		{stmt, term.AtCall, "example.org/myos.Mkdir", "", ""},
		{stmt, term.AtCall, module + "core/runtime/v2.NewBundle", "", ""},
		{stmt, term.AtCall, module + "client.Container.Delete", "", ""}, // NotFound would be untrue
		{stmt, term.AtCall, module + "pkg/atomicfile.File.Close", "", "ENOSPC"},
		{stmt, term.AtStatement, "os.Mkdir", "", ""},
		{stmt, term.AtCancel, "os.Mkdir", "", ""},

		{"rpc:containerd:Task.Delete:entry", AtMethod, "", "NotFound Unavailable", ""},
		{"rpc:containerd:Task.Delete:exit", AtMethod, "", "NotFound Unavailable DeadlineExceeded", ""},
		{"rpc:containerd:Task.Shutdown:entry", AtMethod, "", "Unavailable", ""}, // it takes no container id
		{"rpc:containerd:Task.State:exit", AtMethod, "", "", ""},
		{"rpc:containerd:Events.Forward:entry", AtMethod, "", "", ""},
		{"rpc:shim:Task.Delete:entry", AtMethod, "", "", ""},
	} {
		p := Hit{Point: failpoints.MustPoint(c.at), Moment: c.moment, Callee: c.callee}
		for word, names := range map[string]string{Code: c.codes, Errno: c.errnos} {
			var want []string
			for name := range strings.FieldsSeq(names) {
				want = append(want, "error("+name+")")
			}
			if got := p.faults(word); !slices.Equal(got, want) || p.Takes(word) != (len(want) > 0) {
				t.Errorf("%s %s %s: %s %q, want %q", c.at, c.moment, c.callee, word, got, want)
			}
		}
	}
}

// Each line has a reason, and names typed errors only: a bare text would be an error that
// no callee returns.
func TestTheLinesOfTypedErrors(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range slices.Concat(answers, returns) {
		if seen[f.who] || f.because == "" || len(f.with) == 0 {
			t.Errorf("%s: a second line, or one without errors or a reason: %+v", f.who, f)
		}
		seen[f.who] = true
		for _, name := range f.with {
			if w := word("error(" + name + ")"); w != Code && w != Errno {
				t.Errorf("%s: %s is neither a class nor an errno", f.who, name)
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
	for _, f := range slices.Concat(answers, returns) {
		missing[f.who] = true
	}
	for _, name := range DefaultWorkloads() {
		passes := must.Get(hitsOf(t, &r, name))(t)
		for _, p := range passes {
			for _, f := range p.fails() {
				delete(missing, f.who)
			}
		}
	}
	for who := range missing {
		t.Errorf("no workload of the default sweep passes a call of %s", who)
	}
}
