// Package must has the checks that tests share: most of them end a test that cannot go
// on, and Equal notes a wrong value. Only tests import it.
package must

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// T is a test: a *testing.T, a *testing.B, a *rapid.T.
type T interface {
	Helper()
	Fatal(args ...any)
	Error(args ...any)
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

// Equal notes an error if got is not what is wanted. Its message begins with about, such
// as the name of a table's row. An empty slice equals a missing one.
func Equal[V any](t T, got, want V, about ...any) {
	t.Helper()
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	switch {
	case reflect.TypeFor[V]().Comparable():
		if any(got) == any(want) {
			return
		}
	case a.Kind() == reflect.Slice && a.Len()+b.Len() == 0 || reflect.DeepEqual(got, want):
		return
	}
	t.Error(strings.TrimLeft(strings.TrimSuffix(fmt.Sprintln(about...), "\n")+": "+differ(got, want), ": "))
}

// differ returns the words for two different values. A text of several lines is shown as
// it is.
func differ(got, want any) string {
	text, ok := got.(string)
	if ok && strings.Contains(text, "\n") {
		return fmt.Sprintf("\n%s\nwant\n%s", text, want)
	}
	if ok {
		return fmt.Sprintf("%q, want %q", text, want)
	}
	return fmt.Sprintf("%+v, want %+v", got, want)
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
