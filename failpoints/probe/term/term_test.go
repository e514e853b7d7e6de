package term

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestParseCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"off":                       "off",
		"1*error(boom)":             "1*error(boom)",
		" 2*off -> 1*crash ":        "2*off->1*crash",
		"error(a (nested) text)":    "error(a (nested) text)",
		"1*error(NotFound)":         "1*error(NotFound)",
		"1*error(ENOSPC)":           "1*error(ENOSPC)",
		"delay(2s)":                 "delay(2000)",
		"3*delay(5)->pause":         "3*delay(5)->pause",
		"pressure(4MiB/s,60MiB)":    "pressure(4MiB/s,60MiB)",
		"1*off->1*cancel->deadline": "1*off->1*cancel->deadline",
	} {
		got, err := Parse(in)
		if err != nil {
			t.Errorf("Parse(%q): %v", in, err)
			continue
		}
		must.Equal(t, got.String(), want, "Parse", in)
		again := must.Get(Parse(got.String()))(t)
		must.Equal(t, again, got, "Parse", "again")
	}
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

func TestParseErrors(t *testing.T) {
	for in, pos := range map[string]int{
		"":                     0,
		"explode":              0,
		"0*crash":              0,
		"99999999999*crash":    0,
		"3crash":               1,
		"1*":                   2,
		"crash(now)":           5,
		"delay":                5,
		"delay(soon)":          6,
		"delay(-1)":            6,
		"error(open":           10,
		"crash->off":           5,
		"1*crash,off":          7,
		"1*off->":              7,
		"pressure(fast,60MiB)": 9,
		"pressure(1/s,60MiB)":  9,
		"pressure":             8,
		"1*error(NotFuond)":    8,
		"error(EXDEV)":         6,
	} {
		_, err := Parse(in)
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Errorf("Parse(%q) = %v, want a *ParseError", in, err)
			continue
		}
		must.Equal(t, pe.Pos, pos, "Parse", in, "position", err)
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
	_, err := Parse("1*error(NotFuond)")
	want := `term "1*error(NotFuond)", position 9: expected NotFound, or a text that is not one word, found "NotFuond)"`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAMisspeltAction(t *testing.T) {
	for in, want := range map[string]string{
		"1*lose": "an action, perhaps loseResult,", "1*kil": "an action, perhaps kill,",
		"1*xyzzyxyzzy": "an action (cancel, ",
	} {
		must.FailWith(t, must.ErrorOf(Parse(in)), want, "Parse", in)
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
