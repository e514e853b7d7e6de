package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
)

// The names of a package woven for the test; the last one belongs to another process.
var names = []string{
	"stmt:containerd:runtime.F:a", "stmt:containerd:runtime.F:b", "stmt:containerd:runtime.G:a", "stmt:shim:shim.F:a",
}

// weave registers the names, and arms points as a controller would.
func weave(t *testing.T, s *script, trace bool) {
	t.Helper()
	decide(t, s)
	points := map[string]bool{}
	for p := range s.answers {
		points[p] = true
	}
	registry.names, self = nil, "containerd"
	Register(0, names[:1])
	armStatements(points, trace, false)
	Register(1, names[1:]) // packages may register after the first points were armed
	t.Cleanup(func() {
		registry.names = nil
		armStatements(nil, false, false)
		registry.met = nil
	})
}

func TestStatements(t *testing.T) {
	s := &script{answers: map[string]Decision{names[1]: {Do: "panic", Arg: "as asked"}, names[3]: {Do: "panic"}}}
	weave(t, s, false)
	At(0)
	At(2)
	At(3)
	At(99)
	func() {
		defer func() {
			must.Equal(t, recover(), "as asked", "recovered")
		}()
		At(1)
	}()
	must.Equal(t, s.points(), []string{names[0], names[1]}, "the armed one and its neighbour are reported")
}

func TestTraceReportsAllStatements(t *testing.T) {
	s := &script{}
	weave(t, s, true)
	for n := range names {
		At(n)
	}
	must.Equal(t, s.points(), names[:3], "reported")
}

// Each function of the process is reported once, also after the points were armed again.
func TestCoverReportsEachFunctionOnce(t *testing.T) {
	s := &script{answers: map[string]Decision{names[2]: {Do: "off"}}}
	weave(t, s, false)
	armStatements(map[string]bool{names[2]: true}, false, true)
	for range 2 {
		for n := range names {
			At(n)
		}
		armStatements(map[string]bool{names[2]: true}, false, true)
	}
	// The function of an armed point reports each of its hits as always.
	must.Equal(t, s.points(), []string{names[0], names[2], names[2]}, "reported")
	called := Fn(1, func() error { return nil })
	if err := called(); err != nil || len(s.points()) != 3 {
		t.Errorf("a call is no statement: %q, %v", s.points(), err)
	}
}

func TestFn(t *testing.T) {
	called := 0
	sum := func(numbers ...int) (int, error) {
		called++
		return len(numbers), nil
	}
	for _, test := range []struct {
		do     string
		calls  int
		n      int
		failed string
	}{
		{"off", 1, 2, ""},
		{"error", 0, 0, "no space"},
		{"loseResult", 1, 0, "the call's result was lost (shimquake)"},
	} {
		t.Run(test.do, func(t *testing.T) {
			s := &script{answers: map[string]Decision{names[0]: {Do: test.do, Arg: "no space"}}}
			weave(t, s, false)
			called = 0
			n, err := Fn(0, sum)([]int{1, 2}...)
			if n != test.n || called != test.calls || fmt.Sprint(err) != test.failed && (err != nil || test.failed != "") {
				t.Errorf("%d, %v after %d calls", n, err, called)
			}
			if len(s.hits) != 1 || !s.hits[0].Call {
				t.Errorf("hits %+v, want one of the call", s.hits)
			}
			if f := Fn(0, func() int { return 7 }); f() != 7 { // the last result is no error
				t.Error("a function without an error was wrapped")
			}
		})
	}
}

type closer struct{}

func (*closer) end() error  { return nil }
func (closer) Close() error { return nil }

func generic[T any](T) error { return nil }

// The errors of a callee depend on its name. A method has the name of its type, which may
// be an interface.
func TestCalleesAreNamed(t *testing.T) {
	var c io.Closer = closer{}
	const here = "github.com/shimquake/shimquake/failpoints/probe."
	for want, f := range map[string]any{
		"os.Mkdir": os.Mkdir, "io.Closer.Close": c.Close, here + "(*closer).end": (&closer{}).end,
		here + "generic[...]": generic[int],
	} {
		must.Equal(t, callee(reflect.ValueOf(f)), want)
	}
	s := &script{}
	weave(t, s, true)
	if _, err := Fn(0, os.ReadFile)("/"); err == nil || len(s.hits) != 1 || s.hits[0].Callee != "os.ReadFile" {
		t.Errorf("%v, hits %+v: want one that tells of os.ReadFile", err, s.hits)
	}
}

// The function's name shows whether it serves a request. No function of this test's
// package does.
func TestRequestTimesOut(t *testing.T) {
	s := &script{answers: map[string]Decision{names[0]: {Do: "deadline"}}}
	weave(t, s, false)
	if ctx := Request(t.Context()); rootOf(ctx) != nil {
		t.Error("a context that nobody ends by a timeout was made one")
	}
	timed := must.Within(t, time.Hour)
	ctx := Request(timed)
	type key struct{}
	derived, cancel2 := context.WithCancel(context.WithValue(Request(ctx), key{}, 1))
	defer cancel2()
	kept := context.WithoutCancel(derived)
	AtCtx(0, kept)
	<-derived.Done() // the end passes context.WithValue a moment later
	if !errors.Is(derived.Err(), context.DeadlineExceeded) || kept.Err() != nil {
		t.Errorf("derived: %v, kept: %v", derived.Err(), kept.Err())
	}
	AtCtx(0, derived)
	if len(s.hits) != 4 || s.hits[0].Ctx != ByTimeout || s.hits[1].Ended || s.hits[2].Ctx != "" || !s.hits[3].Ended {
		t.Errorf(
			"hits %+v, want one in a context that a timeout can end, but not the one at hand, and one in a context that has "+
				"ended",
			s.hits,
		)
	}
	must.Equal(t, Request(derived), derived, "a request that has ended was given a context that has not")
}

func BenchmarkUnarmed(b *testing.B) {
	ctx := b.Context()
	f := func(context.Context) error { return nil }
	for name, pass := range map[string]func(){
		"bare":           func() { _ = f(ctx) },
		"At":             func() { At(0); _ = f(ctx) },
		"AtCtx":          func() { AtCtx(0, ctx); _ = f(ctx) },
		"Fn":             func() { _ = Fn(0, f)(ctx) },
		"Fn of a method": func() { _, _ = Fn(0, b.Context)(), ctx },
		"Request":        func() { _ = f(Request(ctx)) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				pass()
			}
		})
	}
}
