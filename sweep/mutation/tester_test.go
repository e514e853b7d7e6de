package mutation

import (
	"flag"
	"maps"
	"slices"
	"testing"
	"time"
)

var asked = flag.Bool("mutation", false, "sweep a containerd for each mutation (make mutation)")

// long skips a test that builds a containerd for each mutation, where nobody asked for
// it.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() || !*asked {
		t.Skip("builds a containerd for each mutation and takes half an hour: make mutation")
	}
}

// The sweep ends with 1 over every mutation, and over none that leaves nothing.
func TestSweepFindsMutations(t *testing.T) {
	long(t)
	tester := &Tester{Runner: caseRunner(t), Out: "../../out/mutation"}
	found, masked, swept, ran := 0, 0, 0, 0
	for _, m := range mutations(t) {
		t.Run(m.ID, func(t *testing.T) {
			ran++
			begun := time.Now()
			got, err := tester.Test(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v, %s", got, time.Since(begun).Round(time.Second))
			if m.Masked != "" {
				masked++
				if got.Found() {
					t.Errorf("there is nothing to find: %s", m.Masked)
				}
				return
			}
			swept++
			if !got.Found() {
				t.Errorf("the sweep is blind to it: %s", m.About)
				return
			}
			found++
		})
	}
	if ran == 0 {
		t.Error("no mutation has such an id, and nothing ran: sweep/mutation/mutations has them")
	}
	t.Logf("%d of %d mutations found, and %d swept that leave nothing", found, swept, masked)
}

// The same sweeps of the untouched source find nothing that the catalogue does not know.
// What a wider one of them sweeps is not swept again.
func TestSweepKnowsTheUntouched(t *testing.T) {
	long(t)
	tester := &Tester{Runner: caseRunner(t), Out: "../../out/mutation"}
	scopes := map[string]Scope{}
	for _, m := range mutations(t) {
		scopes[m.Sweep.String()] = m.Sweep
	}
	for _, name := range slices.Sorted(maps.Keys(scopes)) {
		s := scopes[name]
		delete(scopes, name)
		if slices.ContainsFunc(slices.Collect(maps.Values(scopes)), func(o Scope) bool { return o.Covers(s) }) {
			continue
		}
		scopes[name] = s
		t.Run(name, func(t *testing.T) {
			got, err := tester.Untouched(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range got.New {
				t.Errorf("%s is not known: %v, %d cases, %v", c.Name, c.Left, c.Cases, c.Shown)
			}
			for _, id := range got.Gone {
				t.Errorf("%s is known and was not found", id)
			}
		})
	}
}

func mutations(t *testing.T) []Mutation {
	t.Helper()
	all, err := Mutations()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCovers(t *testing.T) {
	s := Scope{
		Workloads: []string{"task", "cri"}, Who: []string{"shim"}, Paths: []string{"exit"}, Actions: []string{"crash"}}
	for name, tt := range map[string]struct {
		change func(*Scope)
		want   bool
	}{
		"the same":        {func(*Scope) {}, true},
		"fewer workloads": {func(o *Scope) { o.Workloads = o.Workloads[:1] }, true},
		"some points":     {func(o *Scope) { o.Points = "x" }, true},
		"another path":    {func(o *Scope) { o.Paths = []string{"exit", "delete"} }, false},
		"another action":  {func(o *Scope) { o.Actions = []string{"error"} }, false},
		"another process": {func(o *Scope) { o.Who = []string{"daemon"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			other := s
			tt.change(&other)
			if got := s.Covers(other); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
	narrow := s
	narrow.Points = "x"
	if narrow.Covers(s) {
		t.Error("some points are all")
	}
}
