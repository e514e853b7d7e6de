package signature

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/repro/statement"
)

func TestOf(t *testing.T) {
	const (
		started = `time="2026-01-01T00:00:00Z" level=info msg="starting containerd" revision=x version=v2.4.2` + "\n"
		leaked  = `time="2026-01-01T00:00:01Z" level=error ` +
			`msg="failed to shutdown shim task and the shim might be leaked" ` +
			`error="rpc error: code = Canceled desc = context canceled" id=c0` + "\n"
	)
	for name, tt := range map[string]struct {
		log, without string
		errors       []string
		want         []string
	}{
		"what the fault adds": {started + leaked, started, nil,
			[]string{"code Canceled", "log failed to shutdown shim task and the shim might be leaked"}},
		"the same twice": {leaked + leaked, started, nil,
			[]string{"code Canceled", "log failed to shutdown shim task and the shim might be leaked"}},
		"nothing is new":   {started, started, nil, nil},
		"no line of a log": {"goroutine 1\n", "", nil, nil},
		"a panic":          {"panic: x\ngoroutine 1\n", "", nil, []string{"panic panic: x"}},
		"an answer": {started, started, []string{"rpc error: code = NotFound desc = container not created: not found"},
			[]string{"code NotFound", "error container not created: %w"}},
		"empty": {"", started, nil, nil},
	} {
		if got := Of(Logs{Log: tt.log, Errors: tt.errors}, Logs{Log: tt.without}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestLines checks that Lines returns the first line of each statement that only the run
// with the fault logs.
func TestLines(t *testing.T) {
	const started = "time=\"t\" level=info msg=\"starting containerd\"\n"
	line := func(id string) string {
		return `time="t" level=error msg="failed to delete task" error="context canceled" id=` + id + "\n"
	}
	run := Logs{Log: started + line("a") + "panic: x\n" + line("b")}
	if got := Lines(run, Logs{}); !slices.Equal(got, []string{strings.TrimSpace(line("a")), "panic: x"}) {
		t.Errorf("got %q", got)
	}
	if got := Lines(run, Logs{Log: line("c") + "panic: x\n"}); got != nil {
		t.Errorf("%q is logged without the fault, too", got)
	}
}

// TestSignaturesAreOfTheCatalogue compares catalogue/signatures.jsonl with the bugs and
// with the statements of releases. `shimquake matrix --signatures` writes that file.
func TestSignaturesAreOfTheCatalogue(t *testing.T) {
	known := map[string]bool{}
	for _, s := range statement.Known() {
		known[string(s.Kind)+" "+s.Format] = true
	}
	signed := 0
	for _, b := range catalogue.Bugs() {
		if len(b.Signatures()) > 0 {
			signed++
		}
		if len(b.Cases) > 0 && len(b.Symptoms.Log) > 0 {
			t.Errorf("%s has a case, so its signature is recorded: remove symptoms.log from its file", b.ID)
		}
		for _, s := range b.Signatures() {
			for _, key := range s.Keys {
				if !known[key] && !strings.HasPrefix(key, "code ") && !strings.HasPrefix(key, "panic ") {
					t.Errorf("%s on %s logs %q, but no tested release has that statement: "+
						"record the signature again (shimquake matrix --signatures)", b.ID, s.Release, key)
				}
			}
		}
	}
	if signed < 100 {
		t.Errorf("only %d bugs have a signature, but each bug with a case should have one", signed)
	}
}
