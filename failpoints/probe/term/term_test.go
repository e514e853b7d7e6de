package term

import (
	"fmt"

	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestParse(t *testing.T) {
	must.Table(t, "../../testdata/terms.txt", func(in string) string {
		got, err := Parse(in)
		if pe := (*ParseError)(nil); errors.As(err, &pe) {
			must.Contain(t, pe.Error(), fmt.Sprint("position ", pe.Pos+1), in)
			return pe.Error()
		}
		must.Equal(t, must.Get(Parse(got.String()))(t), got, in)
		return got.String()
	})
}

// Each action can be written with and without a count, and is parsed to the same clause.
func TestEveryActionHasASample(t *testing.T) {
	for _, a := range Actions() {
		if !slices.Contains(Actions("rpc", "stmt", "proc", "sys", "io"), a) || len(a.Samples()) == 0 {
			t.Errorf("%s: no point takes it, or it has no sample", a)
		}
		for _, c := range a.Samples() {
			for _, text := range []string{c.String(), "2*off->3*" + c.String()} {
				must.Equal(t, must.Get(Parse(text))(t).At(3).Action, a, "Parse")
			}
		}
	}
}

func TestAt(t *testing.T) {
	tm := must.Get(Parse("2*off->1*crash->3*error(x)"))(t)
	want := []Action{Off, Off, Crash, Error, Error, Error, Off, Off}
	for i, a := range want {
		must.Equal(t, tm.At(i+1).Action, a, "hit", i+1)
	}
	must.Equal(t, (Term{}).At(1).Action, Off, "the zero term")
}

// A misspelt name is no bare text.
func TestMisspelt(t *testing.T) {
	for arg, want := range map[string]string{
		"NotFuond": "NotFound,", "notFound": "NotFound,", "NOTFOUND": "NotFound,", "Unvailable": "Unavailable,",
		"Cancelled": "Canceled,", "NotImplemented": "Unimplemented,", "DeadlineExceded": "DeadlineExceeded,",
		"ENOSPCE": "ENOSPC,", "Enospc": "ENOSPC,", "ENOSPACE": "ENOSPC,", "ENOTFOUND": "NotFound,",
		"EXDEV": "ENODEV,", "EWHATEVERITIS": "an errno (EACCES, EAGAIN,",
		"": "", "injected": "", "Boom": "", "Error": "", "EOF": "", "not found": "", "NotFuond it": "", "enospc": "",
	} {
		got := misspelt(arg)
		if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("misspelt(%q) = %q, want %q", arg, got, want)
		}
	}
	for _, name := range append(CodeNames(), ErrnoNames()...) {
		_, code := Clause{Arg: name}.Code()
		_, errno := Clause{Arg: name}.Errno()
		if _, err := Parse("1*error(" + name + ")"); err != nil || code == errno {
			t.Errorf("%s: %v, a code: %t, an errno: %t", name, err, code, errno)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"abc", "abc", 0}} {
		must.Equal(t, distance(test.a, test.b), test.want, "distance", test.a, test.b)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"off", "1*error(x)->off", "2*off->1*crash", "delay(10)", "pressure(4MiB/s,60MiB)",
		"1*error(()", "9*"} {
		f.Add(s)
	}
	for _, a := range Actions() {
		for _, c := range a.Samples() {
			f.Add(c.String())
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		tm, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(tm.String())
		if err != nil || again != tm {
			t.Fatalf("%q -> %q -> %q, %v", s, tm, again, err)
		}
		tm.At(1)
	})
}
