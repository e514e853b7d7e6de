package search

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/sweep/plan"
)

func TestTargets(t *testing.T) {
	shim := " 5 1 /usr/bin/containerd-shim-runc-v2 -namespace a -id b -address c\n"
	orphan := "# ps axo pid,ppid,args\n PID PPID COMMAND\n" + shim + " 6 1 sleep 1\n# ctr -n a t ls\nTASK PID STATUS\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a shim without task and children is one target": {orphan, []string{"shim task=none children=none"}},
		"its bundle comes with it": {
			orphan + "# ls /run/containerd/io.containerd.runtime.v2.task/a\nb\n", []string{"shim task=none children=none"}},
		"two statuses": {"x ci /tasks/exit {\"container_id\":\"a\",\"pid\":7,\"exit_status\":7}\n" +
			"x ci /tasks/exit {\"container_id\":\"a\",\"pid\":7,\"exit_status\":137}\n",
			[]string{"event event=repeated topic=/tasks/exit repeat=other-status", "exit-code by=TaskExit status=made-up-137"}},
		"words":                           {"we have leaked shims", nil},
		"a listing beside other trouble":  {orphan + "Error: ErrImagePull", []string{"shim task=none children=none"}},
		"a call beside other trouble":     {"Error: ErrImagePull\nError: could not kill container", nil},
		"nothing that could be left over": {"# systemctl restart containerd", nil},
	} {
		var got []string
		for _, m := range Targets(read.Text(c.text)) {
			got = append(got, m.String())
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestFit(t *testing.T) {
	targets := finding.MustMatches("shim task=none")
	findingOf := func(text, id string) finding.Finding {
		m := finding.MustMatches(text)[0]
		return finding.Finding{Invariant: finding.Leak, Class: m.Class, Facts: m.Facts, Subject: finding.Subject{ID: id}}
	}
	shim := findingOf("shim task=none bundle=gone", "a")
	for name, c := range map[string]struct {
		found      []finding.Finding
		all, exact bool
	}{
		"just it":              {[]finding.Finding{shim}, true, true},
		"and its socket":       {[]finding.Finding{shim, findingOf("socket socket=listening", "a")}, true, true},
		"and another's bundle": {[]finding.Finding{shim, findingOf("bundle shim=none", "b")}, true, false},
		"something else":       {[]finding.Finding{findingOf("shim task=RUNNING", "a")}, false, false},
		"nothing":              {nil, false, false},
	} {
		f := fitOf(targets, c.found)
		if f.all(targets) != c.all || f.exact(targets) != c.exact {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func spec(t *testing.T, at, action, path string) plan.Spec {
	t.Helper()
	p, err := failpoints.ParsePoint(at)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Single(plan.Hit{Point: p, Nth: 1, Path: path}, action, "task")
}

// The function that the report names comes first, then the reported conditions, then the
// results of neighbours.
func TestLikeliestFirst(t *testing.T) {
	p := plan.Plan{Specs: []plan.Spec{
		spec(t, "stmt:containerd:tasks.local.Get:x", "crash", "create"),
		spec(t, "stmt:shim:process.Init.Create:x", "error(x)", "create"),
		spec(t, "stmt:containerd:runtime.binary.Start:x", "crash", "create"),
		spec(t, "stmt:shim:process.Init.Create:y", "error(x)", "create"),
	}}
	r := read.Text("# pkill -9 containerd\nat github.com/containerd/containerd/runtime/v2.(*binary).Start(0x1)")
	q := newQueue(p, newClues(r, "v2.4.2", nil, nil))
	var order []int
	for range 2 {
		i, _ := q.next()
		order = append(order, i)
	}
	if !slices.Equal(order, []int{2, 0}) {
		t.Errorf("%v come first", order)
	}
	targets := finding.MustMatches("shim task=none")
	q = newQueue(plan.Plan{Specs: p.Specs[1:]}, newClues(read.Text(""), "v2.4.2", nil, nil))
	q.learn(0, fit{has: 1}, targets)
	if i, _ := q.next(); i != 0 {
		t.Errorf("%d comes first, and not the case with a neighbour that left the target", i)
	}
}
