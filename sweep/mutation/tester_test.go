package mutation

import (
	"flag"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/sweep/plan"
)

var (
	asked = flag.Bool("mutation", false, "sweep a containerd for each mutation (make mutation)")
	part  = flag.String("part", "", "of the mutations and the untouched source's sweeps, the i-th of n parts: i/n")
)

// long skips a test that builds a containerd for each mutation, unless a flag asks for
// it.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() || !*asked {
		t.Skip("builds a containerd for each mutation and takes hours: make mutation")
	}
}

// ours returns the elements of the requested part. Its name decides to which part an
// element belongs: it stays there when others are added, also between the runs of two
// parts.
func ours[T any](t *testing.T, all []T, name func(T) string) []T {
	t.Helper()
	shard, err := plan.ParseShard(*part)
	must.Succeed(t, err, "-part")
	var out []T
	for _, v := range all {
		if shard.Has(int(crc32.ChecksumIEEE([]byte(name(v))))) {
			out = append(out, v)
		}
	}
	return out
}

// The sweep ends with 1 over every mutation, and over none of the masked ones. Its first
// cases without a fault have the outcome in the mutation's file.
func TestSweepFindsMutations(t *testing.T) {
	long(t)
	tester := &Tester{Runner: caseRunner(t), Out: "../../out/mutation"}
	found, masked, swept, ran := 0, 0, 0, 0
	for _, m := range ours(t, mutations(t), func(m Mutation) string { return m.ID }) {
		t.Run(m.ID, func(t *testing.T) {
			ran++
			begun := time.Now()
			got := must.Get(tester.Test(t.Context(), m))(t)
			t.Logf("%v, %s", got, time.Since(begun).Round(time.Second))
			if m.Plain != Raced && (got.Plain != nil) != (m.Plain == Broken) {
				t.Errorf("its file says that cases without a fault are %s, and they say: %v", m.Plain, got.Plain)
			}
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
// A sweep that a wider one covers is not run.
func TestSweepKnowsTheUntouched(t *testing.T) {
	long(t)
	tester := &Tester{Runner: caseRunner(t), Out: "../../out/mutation"}
	for _, s := range ours(t, widest(mutations(t)), Scope.String) {
		t.Run(s.String(), func(t *testing.T) {
			got := must.Get(tester.Untouched(t.Context(), s))(t)
			if got.Plain != nil {
				t.Fatalf("without a fault: %v", got.Plain)
			}
			for _, c := range got.New {
				t.Errorf("%s is not known: %v, %d cases, %v", c.Name, c.Left, c.Cases, c.Shown)
			}
		})
	}
}

// widest returns the scopes of the mutations that no other scope covers.
func widest(all []Mutation) []Scope {
	scopes := map[string]Scope{}
	for _, m := range all {
		scopes[m.Sweep.String()] = m.Sweep
	}
	for _, name := range slices.Sorted(maps.Keys(scopes)) {
		s := scopes[name]
		delete(scopes, name)
		if !slices.ContainsFunc(slices.Collect(maps.Values(scopes)), func(o Scope) bool { return o.Covers(s) }) {
			scopes[name] = s
		}
	}
	out := slices.Collect(maps.Values(scopes))
	slices.SortFunc(out, func(a, b Scope) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func mutations(t *testing.T) []Mutation {
	t.Helper()
	return must.Get(Mutations())(t)
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
		"other hits":      {func(o *Scope) { o.Hits = "all" }, false},
		"another process": {func(o *Scope) { o.Who = []string{"daemon"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			other := s
			tt.change(&other)
			must.Equal(t, s.Covers(other), tt.want)
		})
	}
	narrow := s
	narrow.Points = "x"
	if narrow.Covers(s) {
		t.Error("some points are all")
	}
}
