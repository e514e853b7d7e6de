package proof

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "met")
	must.Succeed(t, Note("wait", "nobody listens"))
	t.Setenv(Env, path)
	for _, n := range []struct{ key, text string }{{"wait", "said 9"}, {"shutdown", "lives\non"},
		{"wait", "said 9 again"}} {
		must.Succeed(t, Note(n.key, "%s", n.text))
	}
	file := must.Get(os.ReadFile(path))(t)
	notes := must.Get(Parse(file))(t)
	must.Equal(t, notes["wait"], []string{"said 9", "said 9 again"}, "wait")
	must.Equal(t, notes["shutdown"], []string{"lives on"}, "shutdown, on one line")
}

func TestErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "met")
	for _, text := range []string{"wait", "wait said 9", "alone\n"} {
		if notes, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, notes)
		}
	}
	t.Setenv(Env, filepath.Join(path, "below-a-file"))
	if err := Note("wait", "said 9"); err == nil {
		t.Error("Note has noted nothing and says nothing")
	}
}
