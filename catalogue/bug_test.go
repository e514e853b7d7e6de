package catalogue

import (
	"fmt"

	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue/bugs"
	"github.com/shimquake/shimquake/fixes"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/spelling"
)

const leak = `id: shim-left
title: a shim that stays
kind: defect
severity: high
trigger: a restart
symptoms:
  log: ['failed to shutdown .*']
left:
  - shim task=none
releases:
  "2.0": {bad: v2.0.14}
  "2.4": {fixed: v2.4.0}
threads: [issue containerd#8981, compare runc#3591]
why: why
verified: {by: [ran]}
odds: 19 of 20
cases:
  - name: shim-left
    workload: {containers: [{exit: 7}]}
    plan:
      - at: rpc:shim:Task.Shutdown:entry
        do: 1*error(injected)
sweep:
  where: ["shim Task.*"]
`

func TestParseBug(t *testing.T) {
	b := must.Get(ParseBug("x.yaml", []byte(leak)))(t)
	c, ok := b.Case()
	if !ok || c.Plan[0].At.String() != "rpc:shim:Task.Shutdown:entry" || c.Issues[0] != 8981 || c.About != b.Title {
		t.Errorf("case %v", c)
	}
	if len(c.Bugs) != 1 || c.Bugs[0] != b.ID || !b.Symptoms.Log[0].MatchString("failed to shutdown x") || b.Odds.Sure() {
		t.Errorf("%+v", b)
	}
}

func TestParseBugRefuses(t *testing.T) {
	refused := func(text string) string {
		_, err := ParseBug("x.yaml", []byte(text))
		if input := (*harness.InputError)(nil); !errors.As(err, &input) {
			t.Errorf("%v: want an error with its place", err)
		}
		return fmt.Sprint(err)
	}
	must.Edits(t, "testdata/refused.txt", leak, refused)
	before, cases, _ := strings.Cut(leak, "cases:\n")
	_, sweep, _ := strings.Cut(cases, "sweep:")
	for text, want := range map[string]string{
		strings.Replace(leak, "a shim that stays", strings.Repeat("x", 71), 1): "2:8: 71 characters",
		strings.Replace(leak, "why: why", "why: "+strings.Repeat("x ", 61), 1): "61 words",
		before + "sweep:" + sweep:           "needs a case",
		before + "cases: 7\nsweep:" + sweep: "a list",
		leak + "---\n" + leak:               "2 YAML documents",
		"# nothing":                         "one bug",
		leak + "residue: {issue: x, class: socket, says: x, when: [shim-killed], expect: [], each: [shim-killed], " +
			"match: [socket=silent]}\n": "of kind residue",
	} {
		must.Contain(t, refused(text), want)
	}
}

func TestFindBug(t *testing.T) {
	for word, want := range map[string]string{
		"containerd-8981": "containerd-8981", "8981": "containerd-8981", "containerd#8981": "containerd-8981",
		"#7496": "containerd-7496", "umount-delayed": "containerd-7496", "shim-not-loaded": "shim-not-loaded",
	} {
		must.Equal(t, must.Get(FindBug(word))(t).ID, want, word)
	}
	_, err := FindBug("containerd-8982")
	var unknown *spelling.UnknownError
	if !errors.As(err, &unknown) || unknown.Nearest != "containerd-8981" {
		t.Errorf("%v, want a suggestion", err)
	}
}

// Each word on the command line has one meaning.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, b := range Bugs() {
		names := map[string]bool{b.ID: true}
		for _, c := range b.Cases {
			names[c.Name] = true
		}
		for name := range names {
			if strings.ContainsAny(name, "/.") {
				t.Errorf("%s would be taken for a file", name)
			}
			must.Equal(t, seen[name], "", name, "is also of", b.ID, "and of")
			seen[name] = b.ID
		}
	}
}

// The ranks of bugs with one severity differ: otherwise their names would order them.
func TestRanksAreUnique(t *testing.T) {
	seen := map[int]string{}
	for _, b := range Bugs() {
		if other := seen[b.Rank]; b.Rank > 0 && other != "" {
			t.Errorf("%s and %s have rank %d", other, b.ID, b.Rank)
		}
		seen[b.Rank] = b.ID
	}
}

func FuzzParseBug(f *testing.F) {
	f.Add([]byte(leak))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseBug("x", text)
		if err == nil && (b.ID == "" || b.Releases.Check() != nil || len(b.Verified.By) == 0) {
			t.Errorf("accepted %q", text)
		}
	})
}

// The test reports all invalid files at once. Bugs panics on the first one.
func TestFiles(t *testing.T) {
	names, err := fs.Glob(bugs.Files, "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(bugs.Files, name)
		if err == nil {
			_, err = ParseBug(name, text)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func TestBesidesAreBugs(t *testing.T) {
	for _, b := range Bugs() {
		for _, id := range b.Beside {
			if other, err := FindBug(id); err != nil || other.ID != id || id == b.ID {
				t.Errorf("%s: beside %s: another bug's id is needed: %v", b.ID, id, err)
			}
		}
	}
}

// Each fix closes bugs of the catalogue that its releases have.
func TestFixesCloseBugs(t *testing.T) {
	for _, fix := range fixes.List() {
		for _, id := range fix.Closes {
			b, err := FindBug(id)
			if err != nil || b.ID != id || len(b.Cases) == 0 {
				t.Errorf("%s closes %s: %v; want the id of a bug with a case", fix.Name, id, err)
				continue
			}
			for _, release := range fix.Releases {
				if !b.Applies(release) || b.MayApply(release+"+"+fix.Name) || b.MayApply(release+"+fixes") {
					t.Errorf("%s closes %s: want it bad on %s, and free with the fix", fix.Name, id, release)
				}
			}
		}
	}
}
