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
		must.Fail(t, must.ErrorOf(Parse([]byte(text))), "Parse", text)
	}
	t.Setenv(Env, filepath.Join(path, "below-a-file"))
	must.Fail(t, Note("wait", "said 9"), "Note has noted nothing and says nothing")
}
