// Package must ends a test that cannot go on. Only tests import it.
package must

import (
	"os"
	"path/filepath"
)

// T is a test: a *testing.T, a *testing.B, a *rapid.T.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Succeed ends the test with err if it is not nil.
func Succeed(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns a function that returns value, and ends the test if err is not nil:
//
//	f := must.Get(os.Open(name))(t)
func Get[V any](value V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		Succeed(t, err)
		return value
	}
}

// Read returns the text of a file.
func Read(t T, file string) string {
	t.Helper()
	return string(Get(os.ReadFile(file))(t))
}

// Write writes a file of the test, and makes its folder.
func Write(t T, file, text string) {
	t.Helper()
	Succeed(t, os.MkdirAll(filepath.Dir(file), 0o755))
	Succeed(t, os.WriteFile(file, []byte(text), 0o644))
}

// Edit replaces the text of a file by what change makes of it.
func Edit(t T, file string, change func(text string) string) {
	t.Helper()
	Write(t, file, change(Read(t, file)))
}
