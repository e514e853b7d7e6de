package residue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue/bugs"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

const goodResidue = `
id: test
title: what the catalogue reads
releases:
  "2.0": {bad: v2.0.14}
  "2.5": {fixed: v2.5.0}
residue:
  issue: https://example.invalid/1
  class: socket
  says: it stays
  when: [shim-killed]
  expect: [shim-killed-serving]
  each: [shim-killed]
  match: [socket=silent]
`

func TestParseResidueRefuses(t *testing.T) {
	must.Edits(t, "testdata/refused.txt", goodResidue, func(text string) string {
		_, err := Parse([]byte(text))
		return fmt.Sprint(err)
	})
}

// A leaked process, mount or bundle, or a wrong exit status, is never a residue.
func TestNeverKnown(t *testing.T) {
	never := finding.ClassesThat(func(k finding.Kind) bool { return !k.MayStay })
	if len(never) < 17 {
		t.Errorf("a class became one that may be known, and would not violate: never are %v", never)
	}
	for _, class := range never {
		_, err := Parse([]byte(strings.Replace(goodResidue, "class: socket", "class: "+string(class), 1)))
		must.FailWith(t, err, "is never a residue", "a residue of class", class)
		// Such a residue marks no finding, even if it is in the list.
		r := must.Get(Parse([]byte(goodResidue)))(t)
		r.Class, r.Match = class, fact.Facts{}
		f := finding.Finding{Invariant: finding.Leak, Class: class}
		c := Circumstances{Releases: []string{"v2.4.2"}, Happened: []string{ShimKilled}}
		if got := Mark([]Known{r}, []finding.Finding{f}, c); got[0].Known != "" || !got[0].Violates() {
			t.Errorf("a leak of class %s is known: %v", class, got)
		}
	}
}

func TestMark(t *testing.T) {
	r := must.Get(Parse([]byte(goodResidue)))(t)
	dead := finding.Finding{Invariant: finding.Leak, Class: finding.ClassSocket,
		Facts: fact.Facts{fact.Socket: fact.Silent}}
	alive := finding.Finding{Invariant: finding.Leak, Class: finding.ClassSocket,
		Facts: fact.Facts{fact.Socket: fact.Listening}}
	killed := []string{ShimKilled}
	for _, test := range []struct {
		name  string
		f     finding.Finding
		c     Circumstances
		known bool
	}{
		{"a dead socket after a kill", dead, Circumstances{[]string{"v2.4.2"}, killed}, true},
		{"a commit of that release", dead, Circumstances{[]string{"v2.4.2-3-gabcdef.m"}, killed}, true},
		{"somebody listens", alive, Circumstances{[]string{"v2.4.2"}, killed}, false},
		{"nobody was killed", dead, Circumstances{[]string{"v2.4.2"}, nil}, false},
		{"a release that is good", dead, Circumstances{[]string{"v2.5.0"}, killed}, false},
		{"no release", dead, Circumstances{[]string{""}, killed}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Mark([]Known{r}, []finding.Finding{test.f}, test.c)[0]
			if (got.Known == "test") != test.known || got.Violates() == test.known {
				t.Errorf("got %v, want known: %v", got, test.known)
			}
		})
	}
}

func TestGone(t *testing.T) {
	r := must.Get(Parse([]byte(goodResidue)))(t)
	known := []Known{r}
	serving := Circumstances{[]string{"v2.4.2"}, []string{ShimKilled, ShimKilledServing}}
	for _, test := range []struct {
		name   string
		marked []finding.Finding
		c      Circumstances
		notes  int
	}{
		{"it appeared", []finding.Finding{{Class: finding.ClassSocket, Known: "test"}}, serving, 0},
		{"it did not", nil, serving, 1},
		{"it need not", nil, Circumstances{[]string{"v2.4.2"}, []string{ShimKilled}}, 0},
		{"another release", nil, Circumstances{[]string{"v2.5.0"}, serving.Happened}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			notes := Absent(known, test.marked, test.c)
			if len(notes) != test.notes {
				t.Fatalf("notes: %v", notes)
			}
			for _, n := range notes {
				if n.Violates() || !strings.HasPrefix(wording.Subject(n), "residue gone") {
					t.Errorf("note %v", n)
				}
			}
		})
	}
}

func TestResidueFiles(t *testing.T) {
	if len(catalogued(t)) == 0 {
		t.Fatal("no residue was read from catalogue/bugs")
	}
}

// catalogued returns the residues of the catalogue.
func catalogued(t *testing.T) []Known {
	t.Helper()
	return must.Get(Load(bugs.Files))(t)
}

func FuzzParseResidue(f *testing.F) {
	f.Add([]byte(goodResidue))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := Parse(text); err == nil && (r.ID == "" || len(r.When) == 0) {
			t.Errorf("accepted %q", text)
		}
	})
}
