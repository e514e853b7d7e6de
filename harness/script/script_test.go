package script

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestParse(t *testing.T) {
	text := []string{"create all", "mark created", "start c0 c1", "kill c0/e0 SIGKILL &", "join",
		"add c0/e0", "wait all but c1", "install v2.3.7 elsewhere", "restart containerd", "delete all"}
	want := []string{"create c0 c1", "mark created", "start c0 c1", "kill c0/e0 SIGKILL &", "join",
		"add c0/e0", "wait c0", "install v2.3.7 elsewhere", "restart containerd", "delete c1 c0"}
	s, err := Parse(Task, text, []int{1, 0})
	if err != nil || !slices.Equal(s.Lines(), want) {
		t.Fatalf("%v\n%q\nwant\n%q", err, s.Lines(), want)
	}
	again := must.Get(Parse(Task, s.Lines(), []int{1, 0}))(t)
	must.Equal(t, again.Lines(), want, "its text form gives")
}

func TestParseOfAPod(t *testing.T) {
	text := []string{"run pod", "create all", "inventory", "repeat 2 start c0; end c0 &;  join", "soak 6s",
		"remove c0 pod"}
	want := []string{"run pod", "create c0 c1", "inventory", "start c0", "end c0 &", "join", "start c0", "end c0 &",
		"join",
		"soak 6s", "remove c0 pod"}
	s, err := Parse(CRI, text, []int{1, 0})
	if err != nil || !slices.Equal(s.Lines(), want) {
		t.Fatalf("%v\n%q\nwant\n%q", err, s.Lines(), want)
	}
	must.Equal(t, must.ErrorOf(Parse(CRI, Pod, []int{0})), nil, "the lifecycle of a pod")
}

// at is the column and a part of an error.
type at struct {
	column int
	says   string
}

// misread parses each text as the second line of a script, and compares its error.
func misread(t *testing.T, by Client, first string, texts map[string]at) {
	t.Helper()
	for text, want := range texts {
		t.Run(text[:min(len(text), 20)], func(t *testing.T) {
			_, err := Parse(by, []string{first, text}, []int{1, 0})
			var e *Error
			if !errors.As(err, &e) || e.Line != 1 || e.Column != want.column || !strings.Contains(err.Error(), want.says) {
				t.Errorf("got %+v, want column %d and %q", err, want.column, want.says)
			}
		})
	}
}

func TestParseErrorsOfAPod(t *testing.T) {
	misread(t, CRI, "run pod", map[string]at{
		"kill c0 SIGKILL":             {0, "has no verb"},
		"start c0/e0":                 {6, `"c0/e0"`},
		"run c0":                      {4, `known: pod`},
		"soak":                        {0, "duration"},
		"write c0/a0":                 {6, "c0/a0"},
		"write c0/a0 20001":           {12, "up to 20000"},
		"attach c0":                   {7, "known: c0/a0"},
		"soak 2":                      {5, "duration"},
		"soak 1h":                     {5, "up to"},
		"repeat create c0":            {0, "needs a number"},
		"repeat 101 create c0":        {0, "1 to 100"},
		"repeat 2 create c0; strt c0": {20, `"start"`},
		"repeat 2 repeat 2 create c0": {9, `"repeat"`},
		"repeat 2":                    {8, "empty"},
	})
}

func TestParseErrors(t *testing.T) {
	misread(t, Task, "create c0", map[string]at{
		"craete c0":                  {0, `"create"`},
		"create c2":                  {7, `"c0"`},
		"create c0/e0":               {7, `"c0"`},
		"add c0":                     {4, `known: c0/e0`},
		"kill c0 SIGKIL":             {8, `"SIGKILL"`},
		"kill c0":                    {5, `signal "c0" is unknown`},
		"mark runnig":                {5, `"running"`},
		"restart shim":               {8, "containerd"},
		"install":                    {0, "needs a release"},
		"install 2.3":                {8, "v2.3.7"},
		"install v2.3.7 here":        {15, "elsewhere"},
		"install v2.3.7 elsewhere &": {25, "concurrently"},
		"start":                      {0, "needs an object"},
		"join c0":                    {5, "takes no"},
		"join &":                     {5, "concurrently"},
		"wait all c0":                {9, "write nothing"},
		"":                           {0, "empty"},
		"wait \xff":                  {0, "UTF-8"},
		strings.Repeat("x", 2_000):   {0, "bytes"},
	})
}

func TestALongScriptIsRefused(t *testing.T) {
	text := slices.Repeat([]string{"wait c0"}, maxSteps+1)
	must.FailWith(t, must.ErrorOf(Parse(Task, text, []int{0})), "201 steps: at most 200")
}

// No text of a script makes the parser panic, and what it reads it reads again.
func FuzzParse(f *testing.F) {
	f.Add("create all\nstart c0\nwait c0 &\njoin")
	f.Add("kill c0/e0 SIGKILL\nmark running\nrestart containerd\ndelete all but c0")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(Task, strings.Split(text, "\n"), []int{2, 0, 1})
		if err != nil {
			return
		}
		if len(s) > maxSteps {
			return // with all repeats
		}
		again := must.Get(Parse(Task, s.Lines(), []int{2, 0, 1}))(t)
		must.Equal(t, again.Lines(), s.Lines(), "gives")
	})
}
