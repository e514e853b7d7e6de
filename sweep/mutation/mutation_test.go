package mutation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
			if err := os.WriteFile(file, []byte("abc c\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			err := Mutation{ID: "m", Edits: []Edit{tt.edit}}.Apply(dir)
			if tt.want == "" {
				if !errors.Is(err, ErrEdit) {
					t.Errorf("got %v, want ErrEdit", err)
				}
				return
			}
			if got, _ := os.ReadFile(file); err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const good = "id: x\nabout: y\nresembles: z\nedits: [{file: a.go, old: b, new: c}]\nplain: held\n" +
		"sweep: {workloads: [task], who: [shim], paths: [exit], actions: [crash]}\n"
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"good":                                  {good, true},
		"a key too many":                        {good + "more: 1\n", false},
		"points that are no regular expression": {strings.Replace(good, "[crash]", "[crash], points: '('", 1), false},
		"no sweep":                              {strings.Split(good, "sweep")[0], false},
		"no edit":                               {"id: x\nabout: y\nresembles: z\nplain: held\n", false},
		"leaves the module":                     {strings.Replace(good, "a.go", "../a.go", 1), false},
		"empty":                                 {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]byte(tt.text)); (err == nil) != tt.ok {
				t.Errorf("%v", err)
			}
		})
	}
}

// Every mutation fits the release and compiles: one that does not would be found by the
// compiler and not by the sweep.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles what the packages of containerd that mutations change are made of")
	}
	all := mutations(t)
	dir, err := release(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := loadChecker(t, dir, all)
	held, masked := 0, 0
	for _, m := range all {
		t.Run(m.ID, func(t *testing.T) {
			texts, err := m.Texts(dir)
			if err == nil {
				err = check.compiles(texts)
			}
			if err != nil {
				t.Error(err)
			}
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
	if err := check.compiles(texts); err == nil {
		t.Error("a package that lacks what its files use, and uses not what it imports, compiles")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("id: x\nabout: y\nresembles: z\nedits: [{file: a.go, old: b, new: c}]\nplain: held\n")
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
