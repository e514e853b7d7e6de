package mutation

import (
	"fmt"

	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestEdits(t *testing.T) {
	for name, tt := range map[string]struct {
		edit Edit
		want string // "" for ErrEdit
	}{
		"once":      {Edit{"a.go", "b", "x"}, "axc c\n"},
		"twice":     {Edit{"a.go", "c", "x"}, ""},
		"not there": {Edit{"a.go", "z", "x"}, ""},
		"no file":   {Edit{"b.go", "b", "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "a.go")
			must.Succeed(t, os.WriteFile(file, []byte("abc c\n"), 0o644))
			err := Mutation{ID: "m", Edits: []Edit{tt.edit}}.Apply(dir)
			if tt.want == "" {
				must.Is(t, err, ErrEdit)
				return
			}
			if got, _ := os.ReadFile(file); err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const good = "id: x\nabout: y\nharm: leak\nsuffers: A node keeps shims.\nresembles: z\n" +
		"edits: [{file: a.go, old: b, new: c}]\nplain: held\n" +
		"sweep: {workloads: [task], who: [shim], paths: [exit], actions: [crash]}\n"
	must.Edits(t, "testdata/refused.txt", good, func(text string) string {
		_, err := parse([]byte(text))
		return fmt.Sprint(err)
	})
	must.FailWith(t, must.ErrorOf(parse(nil)), "needs")
}

// TestHarms counts the mutations of each kind of harm: without them, nothing shows that
// the sweep finds that kind. parse refuses a file without a harm or its sentence.
func TestHarms(t *testing.T) {
	of, suffers := map[string]int{}, map[string]string{}
	for _, m := range mutations(t) {
		of[m.Harm]++
		if other, again := suffers[m.Suffers]; again {
			t.Errorf("%s has the sentence of %s: name what is different", m.ID, other)
		}
		suffers[m.Suffers] = m.ID
	}
	for _, harm := range Harms {
		if of[harm] < 8 {
			t.Errorf("%d mutations do the harm %s: at least 8", of[harm], harm)
		}
	}
	t.Logf("%v", of)
}

// TestScopes checks that the sweep has the workloads, paths and actions of each
// mutation's scope. Otherwise a missing one would fail only after hours of `make
// mutation`.
func TestScopes(t *testing.T) {
	for _, m := range mutations(t) {
		must.Equal(t, m.Sweep.options().Check(), nil, m.ID)
	}
}

// Every mutation fits the release and compiles. Otherwise the compiler would find it
// instead of the sweep.
func TestMutations(t *testing.T) {
	must.TakeLong(t, "compiles what the packages of containerd that mutations change are made of")
	all := mutations(t)
	dir := must.Get(release(t.Context()))(t)
	check := loadChecker(t, dir, all)
	held, masked := 0, 0
	for _, m := range all {
		t.Run(m.ID, func(t *testing.T) {
			texts, err := m.Texts(dir)
			if err == nil {
				err = check.compiles(texts)
			}
			must.Succeed(t, err)
		})
		if m.Masked != "" {
			masked++
		} else if m.Plain == Held {
			held++
		}
	}
	if len(all)-masked < 10 || held < 8 {
		t.Errorf("%d mutations that can be seen, %d of them by a fault only: want 10 and 8", len(all)-masked, held)
	}
	const file = "core/runtime/v2/shim.go"
	texts := map[string]string{file: "package v2\n\nimport \"os\"\n"}
	must.Fail(t, check.compiles(texts), "a package that lacks what its files use, and uses not what it imports, compiles")
}

func FuzzParse(f *testing.F) {
	f.Add("id: x\nabout: y\nharm: io\nsuffers: A b.\nresembles: z\nedits: [{file: a.go, old: b, new: c}]\nplain: held\n")
	f.Add("edits: [{file: /a, old: ''}]")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parse([]byte(text))
		if err != nil {
			return
		}
		if len(m.Edits) == 0 || len(m.Packages()) == 0 || len(m.Sweep.Paths) == 0 {
			t.Errorf("accepted %+v", m)
		}
	})
}
