package fact

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/spelling"
)

func TestFactsHaveAStableTextForm(t *testing.T) {
	fs := Facts{Bundle: Gone, Task: None, Message: "a = b"}
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
		_, err := Parse(text)
		var u *spelling.UnknownError
		if !errors.As(err, &u) || u.Nearest != nearest {
			t.Errorf("%s: %v, want %s", text, err, nearest)
		}
	}
	for _, text := range []string{"", "task", "task=", "=none"} {
		must.Fail(t, must.ErrorOf(Parse(text)), text, "is a fact")
	}
	must.Fail(t, must.ErrorOf(ParseAll([]string{"task=none", "task=RUNNING"})), "a key has two values")
}

func TestCauseForgetsWhatIsOfOneCase(t *testing.T) {
	fs := Facts{Task: TaskStopped, TaskPID: "41", Reported: "137", Error: "x"}
	must.Equal(t, fs.Cause(), (Facts{Task: TaskStopped}))
	if d := fs.Details(); len(d) != 2 {
		t.Errorf("%v", d)
	}
}

func FuzzParseFact(f *testing.F) {
	f.Add("task=none")
	f.Add("message=a=b")
	f.Fuzz(func(t *testing.T, text string) {
		if fact, err := Parse(text); err == nil && fact.String() != text {
			t.Errorf("%q became %q", text, fact)
		}
	})
}
