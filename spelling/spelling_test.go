package spelling

import (
	"errors"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestNearest(t *testing.T) {
	known := []string{"kill", "stop", "cont", "shutdown-error-once"}
	for name, want := range map[string]string{
		"kil": "kill", "KILL": "kill", "shutdown-eror-once": "shutdown-error-once", "xyzzyxyzzy": "", "": "", "sto": "stop",
	} {
		must.Equal(t, Nearest(name, known), want, "Nearest", name)
	}
}

func TestUnknown(t *testing.T) {
	many := make([]string, maxKnown+1)
	for _, test := range []struct {
		err  error
		want string
	}{
		{Unknown("verb", "kil", []string{"kill", "stop"}), `verb "kil" is unknown, did you mean "kill"?`},
		{Unknown("verb", "xyzzy", []string{"kill", "stop"}), `verb "xyzzy" is unknown; known: kill, stop`},
		{&UnknownError{What: "case", Name: "x", Known: []string{"a", "b"}, Lists: "list cases"},
			`case "x" is unknown; known: a, b`},
		{&UnknownError{What: "case", Name: "x", Known: many, Lists: "list cases"},
			`case "x" is unknown; all are listed by: list cases`},
	} {
		var u *UnknownError
		if !errors.As(test.err, &u) || test.err.Error() != test.want {
			t.Errorf("got %T %q, want %q", test.err, test.err, test.want)
		}
	}
}
