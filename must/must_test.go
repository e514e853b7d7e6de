package must_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
)

// failing is a test that notes why it was ended, and what is wrong.
type failing struct {
	why, wrong string
}

func (*failing) Helper() {}

func (f *failing) Error(args ...any) { f.wrong = fmt.Sprint(args...) }

func (f *failing) Fatal(args ...any) { f.why = fmt.Sprint(args...) }

func TestAnErrorEndsTheTest(t *testing.T) {
	wrong, f := errors.New("wrong"), &failing{}
	if must.Succeed(f, nil); must.Get(7, nil)(f) != 7 || f.why != "" {
		t.Error(f.why)
	}
	if must.Succeed(f, wrong); f.why != "wrong" {
		t.Errorf("%q: the test goes on", f.why)
	}
	f = &failing{}
	if must.Get(7, wrong)(f); f.why != "wrong" {
		t.Errorf("%q: the test goes on without a value", f.why)
	}
	dir := t.TempDir()
	for name, work := range map[string]func(must.T){
		"read":  func(t must.T) { must.Read(t, filepath.Join(dir, "missing")) },
		"write": func(t must.T) { must.Write(t, dir, "it is a folder") },
	} {
		f = &failing{}
		if work(f); f.why == "" {
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

func TestWhatIsNoted(t *testing.T) {
	one, same := 1, 1
	wrong := fmt.Errorf("wrong: %w", fs.ErrNotExist)
	for want, check := range map[string]func(must.T){
		"":                        func(t must.T) { must.Equal(t, []string{"a"}, []string{"a"}, "row") },
		"0":                       func(t must.T) { must.Equal(t, []string{}, nil) },
		"row: 1, want 2":          func(t must.T) { must.Equal(t, 1, 2, "row") },
		`row of 3: "a", want "b"`: func(t must.T) { must.Equal(t, "a", "b", "row of", 3) },
		"[a], want [b]":           func(t must.T) { must.Equal(t, []string{"a"}, []string{"b"}) },
		"row: \na\nb\nwant\nb":    func(t must.T) { must.Equal(t, "a\nb", "b", "row") },
		"map[a:1], want map[]":    func(t must.T) { must.Equal(t, map[string]int{"a": 1}, nil) },
		`row: error wrong: file does not exist, want one with "right"`: func(t must.T) {
			must.FailWith(t, wrong, "right", "row")
		},
		`error <nil>, want one with ""`:          func(t must.T) { must.Fail(t, nil) },
		"wrong: file does not exist, want <nil>": func(t must.T) { must.Report(t, wrong, "") },
		`error <nil>, want one with "wrong"`:     func(t must.T) { must.Report(t, nil, "wrong") },
		"error wrong: file does not exist, want file already exists": func(t must.T) {
			must.Is(t, must.ErrorOf(0, wrong), fs.ErrExist)
		},
		"\"b\" is not in\na": func(t must.T) { must.Contain(t, "a", "b") },
		`"a", want "b"`:      func(t must.T) { must.Equal(t, []byte("a"), []byte("b")) },
		"1": func(t must.T) {
			must.Fail(t, wrong)
			must.FailWith(t, wrong, "wrong")
			must.Report(t, nil, "")
			must.Report(t, wrong, "wrong")
			must.Is(t, wrong, fs.ErrNotExist)
			must.Contain(t, "ab", "b")
			must.Len(t, []int{1}, 1)
		},
		"pointers": func(t must.T) { must.Equal(t, &one, &same) },
	} {
		f := &failing{}
		check(f)
		switch {
		case want == "pointers" && f.wrong == "":
			t.Error("two pointers are equal")
		case len(want) == 1 && f.wrong != "" || len(want) != 1 && want != "pointers" && f.wrong != want:
			t.Errorf("%q, want %q", f.wrong, want)
		}
	}
}

func TestWithinEnds(t *testing.T) {
	ctx := must.Within(t, time.Millisecond)
	<-ctx.Done()
	must.Is(t, ctx.Err(), context.DeadlineExceeded)
}

func TestGoldenFiles(t *testing.T) {
	file, f := filepath.Join(t.TempDir(), "golden"), &failing{}
	must.Write(t, file, "# lower to upper\na => B\n\"b\\n\" => B\\n\n =>\n")
	must.Table(f, file, strings.ToUpper)
	must.Contain(t, f.wrong, "a => A")
	t.Setenv("UPDATE_GOLDEN", "1")
	must.Table(t, file, strings.ToUpper)
	must.Equal(t, must.Read(t, file), "# lower to upper\na => A\n\"b\\n\" => B\\n\n =>\n")
	t.Setenv("UPDATE_GOLDEN", "")
	must.Table(t, file, strings.ToUpper)
	must.Write(t, file, "\"b\" -> \"c\" => ACA\n")
	must.Edits(t, file, "aba", strings.ToUpper)
	must.Edits(f, file, "aaa", strings.ToUpper)
	must.Contain(t, f.why, "the text is not there")
}
