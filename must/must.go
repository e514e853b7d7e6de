// Package must has the checks that tests share. Succeed, Get, Len and the functions of
// files end a test that cannot go on. The others note an error, whose message begins with
// about, such as the name of a table's row. Only tests import it.
package must

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// T is a test: a *testing.T, a *testing.B, a *rapid.T.
type T interface {
	Helper()
	Fatal(args ...any)
	Error(args ...any)
}

// Succeed ends the test with err if it is not nil. Its message begins with about.
func Succeed(t T, err error, about ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(words(about) + err.Error())
	}
}

// Fail notes an error if err is nil.
func Fail(t T, err error, about ...any) {
	t.Helper()
	FailWith(t, err, "", about...)
}

// FailWith notes an error if err does not contain a text.
func FailWith(t T, err error, text string, about ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Error(fmt.Sprintf("%serror %v, want one with %q", words(about), err, text))
	}
}

// Report notes an error if err does not contain a text, or, for the empty text, if there
// is one.
func Report(t T, err error, text string, about ...any) {
	t.Helper()
	if text == "" {
		Equal(t, err, nil, about...)
	} else {
		FailWith(t, err, text, about...)
	}
}

// Len ends the test if all does not have n entries.
func Len[V any](t T, all []V, n int, about ...any) {
	t.Helper()
	if len(all) != n {
		t.Fatal(fmt.Sprintf("%s%d entries, want %d: %+v", words(about), len(all), n, all))
	}
}

// Is notes an error if err is not a target, as errors.Is finds.
func Is(t T, err, target error, about ...any) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Error(fmt.Sprintf("%serror %v, want %v", words(about), err, target))
	}
}

// Contain notes an error if text does not contain a part.
func Contain(t T, text, part string, about ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Error(fmt.Sprintf("%s%q is not in\n%s", words(about), part, text))
	}
}

// Golden notes an error if got is not the text of a file. If UPDATE_GOLDEN is set, it
// rewrites the file.
func Golden(t T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		Write(t, file, got)
		return
	}
	if diff := cmp.Diff(Read(t, file), got); diff != "" {
		t.Error(fmt.Sprintf("%s (-) differs; UPDATE_GOLDEN=1 rewrites it:\n%s", file, diff))
	}
}

// Table compares the results of a function with a golden file. The file has a line
// "IN => OUT" for each text; IN may be quoted as in Go. Other lines are comments.
func Table(t T, file string, f func(in string) string) {
	t.Helper()
	var all strings.Builder
	for line := range strings.Lines(Read(t, file)) {
		in, _, isRow := strings.Cut(line, " =>")
		if isRow {
			text, err := strconv.Unquote(in)
			if err != nil {
				text = in
			}
			line = strings.TrimSuffix(in+" => "+strings.ReplaceAll(f(text), "\n", `\n`), " ") + "\n"
		}
		all.WriteString(line)
	}
	Golden(t, file, all.String())
}

// Edits is a Table of results for a base text in which one part is replaced. Its texts
// are "\"OLD\" -> \"NEW\"".
func Edits(t T, file, base string, f func(text string) string) {
	t.Helper()
	Table(t, file, func(in string) string {
		before, after, _ := strings.Cut(in, " -> ")
		edited := strings.Replace(base, Get(strconv.Unquote(before))(t), Get(strconv.Unquote(after))(t), 1)
		if edited == base && before != after {
			t.Fatal(in + ": the text is not there")
		}
		return f(edited)
	})
}

// SkipIf skips the test if err is not nil: the machine cannot run it.
func SkipIf(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Skip(err)
	}
}

// BeRoot skips the test of a user who is not root.
func BeRoot(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, " + why)
	}
}

// TakeLong skips the test in a short run.
func TakeLong(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why)
	}
}

// ShortDir returns a temporary folder that every user may enter. Its path is short
// enough for the sockets below it (108 bytes).
func ShortDir(t testing.TB) string {
	t.Helper()
	dir := Get(os.MkdirTemp("", "sq"))(t) //nolint:usetesting // t.TempDir's path is too long
	t.Cleanup(func() { Succeed(t, os.RemoveAll(dir)) })
	Succeed(t, os.Chmod(dir, 0o755))
	return dir
}

// Within returns a context that ends after a time, and with the test.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// words returns the beginning of a message.
func words(about []any) string {
	if len(about) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(about...), "\n") + ": "
}

// ErrorOf returns the error of a function that returns a value, too.
func ErrorOf[V any](_ V, err error) error { return err }

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

// Equal notes an error if got is not what is wanted. An empty slice equals a missing one.
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
	t.Error(words(about) + differ(got, want))
}

// differ returns the words for two different values. A text of several lines is shown as
// it is.
func differ(got, want any) string {
	if b, ok := got.([]byte); ok {
		got, want = string(b), string(want.([]byte))
	}
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
