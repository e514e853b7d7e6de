package oracle

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/spelling"
)

func TestFactsHaveAStableTextForm(t *testing.T) {
	fs := Facts{FactBundle: Gone, FactTask: None, FactMessage: "a = b"}
	text, err := json.Marshal(fs)
	if err != nil || string(text) != `["task=none","bundle=gone","message=a = b"]` {
		t.Fatalf("%s, %v", text, err)
	}
	var back Facts
	if err := json.Unmarshal(text, &back); err != nil || back != fs {
		t.Errorf("%v, %v", back, err)
	}
}

func TestEveryKeyHasAName(t *testing.T) {
	names := map[string]bool{}
	for k := range factCount {
		if keys[k].name == "" || names[keys[k].name] {
			t.Errorf("key %d has no name of its own: %q", k, keys[k].name)
		}
		names[keys[k].name] = true
	}
}

func TestParseFactNamesTheNearest(t *testing.T) {
	for text, nearest := range map[string]string{"tsk=none": "task", "task=nome": "none", "bundle=gnoe": "gone"} {
		_, err := ParseFact(text)
		var u *spelling.UnknownError
		if !errors.As(err, &u) || u.Nearest != nearest {
			t.Errorf("%s: %v, want %s", text, err, nearest)
		}
	}
	for _, text := range []string{"", "task", "task=", "=none"} {
		if _, err := ParseFact(text); err == nil {
			t.Errorf("%q is a fact", text)
		}
	}
	if _, err := ParseFacts([]string{"task=none", "task=RUNNING"}); err == nil {
		t.Error("a key has two values")
	}
}

func TestCauseForgetsWhatIsOfOneCase(t *testing.T) {
	fs := Facts{FactTask: TaskStopped, FactTaskPID: "41", FactReported: "137", FactError: "x"}
	if got := fs.Cause(); got != (Facts{FactTask: TaskStopped}) {
		t.Errorf("%s", got)
	}
	if d := fs.Details(); len(d) != 2 {
		t.Errorf("%v", d)
	}
}

// What containerd says is told apart by code and message, never by what we say of it.
func TestFailure(t *testing.T) {
	answer := status.Error(codes.FailedPrecondition, "task c0 of "+strings.Repeat("0f", 32)+" in state 3 after 10.2s")
	fs := FailedOf(&CallError{"remove", &CallError{"StopPodSandbox", answer}}).Facts(Removal)
	want := Facts{FactWhat: Removal, FactCall: "StopPodSandbox", FactCode: "FailedPrecondition",
		FactMessage: "task ID of ID in state N after TIME"}
	if got := fs.Cause(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func FuzzParseFact(f *testing.F) {
	f.Add("task=none")
	f.Add("message=a=b")
	f.Fuzz(func(t *testing.T, text string) {
		if fact, err := ParseFact(text); err == nil && fact.String() != text {
			t.Errorf("%q became %q", text, fact)
		}
	})
}
