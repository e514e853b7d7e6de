package term

import (
	"errors"
	"testing"
)

func TestParseCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"off":                       "off",
		"1*error(boom)":             "1*error(boom)",
		" 2*off -> 1*crash ":        "2*off->1*crash",
		"error(a (nested) text)":    "error(a (nested) text)",
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
		if got.String() != want {
			t.Errorf("Parse(%q) = %q, want %q", in, got, want)
		}
		again, err := Parse(got.String())
		if err != nil || again != got {
			t.Errorf("Parse(%q) again = %q, %v", got, again, err)
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
	} {
		_, err := Parse(in)
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Errorf("Parse(%q) = %v, want a *ParseError", in, err)
			continue
		}
		if pe.Pos != pos {
			t.Errorf("Parse(%q): position %d, want %d (%v)", in, pe.Pos, pos, err)
		}
	}
}

func TestAt(t *testing.T) {
	tm, err := Parse("2*off->1*crash->3*error(x)")
	if err != nil {
		t.Fatal(err)
	}
	want := []Action{Off, Off, Crash, Error, Error, Error, Off, Off}
	for i, a := range want {
		if got := tm.At(i + 1).Action; got != a {
			t.Errorf("hit %d: %s, want %s", i+1, got, a)
		}
	}
	if got := (Term{}).At(1).Action; got != Off {
		t.Errorf("the zero term: %s, want off", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"off", "1*error(x)->off", "2*off->1*crash", "delay(10)", "pressure(4MiB/s,60MiB)",
		"1*error(()", "9*"} {
		f.Add(s)
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
