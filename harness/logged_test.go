package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLoggedIn(t *testing.T) {
	const line = `time="2026-11-22T03:20:43Z" level=error msg="failed to get shim of 41, \"x\"" error=x` + "\n"
	other := strings.ReplaceAll(line, "of 41", "of 42")
	log := "panic: x\n" + strings.Repeat(line+other, oftenLogged) +
		strings.Repeat("level=info msg=hello\n", oftenLogged-1) +
		`time="2026-11-22T03:20:43Z" level=fatal msg="failed to get shim of 43"` + "\n" + "level=panic msg=a\n"
	want := []Logged{
		{Message: `failed to get shim of 41, \"x\"`, Times: 2 * oftenLogged},
		{Level: "fatal", Message: "failed to get shim of 43", Times: 1},
		{Level: "panic", Message: "a", Times: 1},
	}
	if got, complete := LoggedIn([]byte(log)); !slices.Equal(got, want) || !complete {
		t.Errorf("%+v, %v, want %+v", got, complete, want)
	}
}

// LoggedIn needs bounded memory for a log of different messages, and reports that its
// list is incomplete.
func TestLoggedInIsBounded(t *testing.T) {
	var log []byte
	for n := range 2 * maxMessages {
		log = fmt.Appendf(log, "level=fatal msg=%d\n", n)
	}
	if got, complete := LoggedIn(log); len(got) != maxMessages || complete {
		t.Errorf("%d messages, complete: %v; want %d", len(got), complete, maxMessages)
	}
}

func FuzzLoggedIn(f *testing.F) {
	f.Add([]byte("level=fatal msg=\"a\nlevel=panic msg=\n msg="))
	f.Fuzz(func(t *testing.T, log []byte) {
		all, _ := LoggedIn(log)
		for _, l := range all {
			if l.Times < 1 || !l.Fatal() && l.Times < oftenLogged {
				t.Errorf("%q: %+v", log, l)
			}
		}
	})
}
