package must_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// failing is a test that notes why it was ended.
type failing struct{ why error }

func (*failing) Helper() {}

func (f *failing) Fatal(args ...any) { f.why, _ = args[0].(error) }

func TestAnErrorEndsTheTest(t *testing.T) {
	wrong, f := errors.New("wrong"), &failing{}
	if must.Succeed(f, nil); must.Get(7, nil)(f) != 7 || f.why != nil {
		t.Error(f.why)
	}
	if must.Succeed(f, wrong); !errors.Is(f.why, wrong) {
		t.Errorf("%v: the test goes on", f.why)
	}
	f = &failing{}
	if must.Get(7, wrong)(f); !errors.Is(f.why, wrong) {
		t.Errorf("%v: the test goes on without a value", f.why)
	}
	dir := t.TempDir()
	for name, work := range map[string]func(must.T){
		"read":  func(t must.T) { must.Read(t, filepath.Join(dir, "missing")) },
		"write": func(t must.T) { must.Write(t, dir, "it is a folder") },
	} {
		f = &failing{}
		if work(f); f.why == nil {
			t.Errorf("%s: the test goes on", name)
		}
	}
	file := filepath.Join(dir, "a", "b")
	must.Write(t, file, "one")
	must.Edit(t, file, func(text string) string { return strings.ToUpper(text) })
	if text, err := os.ReadFile(file); string(text) != "ONE" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
