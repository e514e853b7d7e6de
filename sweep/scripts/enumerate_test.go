package scripts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/must"
)

// counts expects so many scripts of each length. Every script can be run, and no two have
// one name.
func counts(t *testing.T, scripts func(int) []harness.Case, want map[int]int) {
	t.Helper()
	for length, want := range want {
		seen := map[string]bool{}
		cases := scripts(length)
		for _, c := range cases {
			if err := c.Check(); err != nil || seen[c.Name] {
				t.Fatalf("%s: %v", c, err)
			}
			seen[c.Name] = true
		}
		must.Equal(t, len(cases), want, "scripts of length", length)
	}
}

// Every script of a pod can be run, and each has a name of its own.
func TestPods(t *testing.T) {
	counts(t, Pods, map[int]int{1: 10, 2: 79, 3: 455})
}

// Every script of a task can be run, and each has a name of its own.
func TestEnumerate(t *testing.T) {
	counts(t, Enumerate, map[int]int{1: 22, 2: 104, 3: 596, 4: 2905})
	again := Enumerate(2)
	for n, c := range Enumerate(2) {
		if back, err := harness.ParseCase("c", []byte(c.String())); err != nil || back.String() != again[n].String() {
			t.Fatalf("%s: %v", c, err)
		}
	}
}

// In each script with a kill there is one kill, and it is the fault of the plan.
func TestEnumerateKills(t *testing.T) {
	counts(t, EnumerateKills, map[int]int{1: 4, 2: 49, 3: 524, 4: 3625})
	for _, c := range EnumerateKills(3) {
		steps, err := c.Workload.Steps()
		if err != nil || len(c.Plan) != 1 || !steps.Uses(script.Mark) || c.Plan[0].At.State() != Mark {
			t.Fatalf("no kill happens in\n%s (%v)", c, err)
		}
	}
}

// Each pair of values that a case can have is in one combination, and there are few
// combinations.
func TestCovering(t *testing.T) {
	chosen := covering()
	missing := map[pair]bool{}
	for _, r := range rows() {
		for _, p := range r.pairs() {
			missing[p] = true
		}
	}
	for _, r := range chosen {
		for _, p := range r.pairs() {
			delete(missing, p)
		}
	}
	if len(missing) > 0 || len(chosen) > 30 {
		t.Errorf("%d combinations, without %v", len(chosen), missing)
	}
}

// Each value of a property is in a script with each verb.
func TestEachPropertyMeetsEachVerb(t *testing.T) {
	have := map[string]bool{}
	texts := map[string]row{}
	for _, r := range covering() {
		texts[bare(r.workload())] = r
	}
	for _, c := range Enumerate(3) {
		r, ok := texts[bare(c.Workload)]
		if !ok {
			t.Fatalf("no combination is that of\n%s", c)
		}
		steps := must.Get(c.Workload.Steps())(t)
		for _, step := range steps[1:] {
			for p, value := range r {
				have[fmt.Sprint(p, value, step.Verb, step.Of)] = true
			}
		}
	}
	sharedPID := len(properties) - 1
	for p := range properties {
		for value := range properties[p] {
			for _, step := range tasks {
				if p == sharedPID && value == 1 && (step.Verb == "pause") {
					continue // see can
				}
				if !have[fmt.Sprint(p, value, step.Verb, step.Of)] {
					t.Errorf("no script has value %d of property %d and %s", value, p, step)
				}
			}
		}
	}
}

// bare is the text of a workload without what belongs to its script.
func bare(w harness.Workload) string {
	w.Containers = slices.Clone(w.Containers)
	w.Containers[0].Execs, w.Containers[0].Stays = nil, false
	w.Script, w.CallTimeout = nil, 0
	return harness.Case{Name: "bare", Workload: w}.String()
}

// Three kinds of scripts show known bugs.
func TestScriptsNameBugs(t *testing.T) {
	named := map[string]bool{}
	for _, c := range append(Enumerate(4), EnumerateKills(3)...) {
		for _, id := range c.Bugs {
			named[id] = true
		}
	}
	for id := range named {
		must.Equal(t, must.Get(catalogue.FindBug(id))(t).ID, id)
	}
	must.Equal(t, len(named), 4, "the scripts name the bugs", named)
}
