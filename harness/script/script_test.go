package script

import (
	"fmt"

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

// The error of a script's second line has its line and column.
func TestParseErrors(t *testing.T) {
	parse := func(by Client, first, text string) string {
		_, err := Parse(by, []string{first, text}, []int{1, 0})
		var e *Error
		if !errors.As(err, &e) || e.Line != 1 {
			t.Fatalf("%q: got %+v", text, err)
		}
		return fmt.Sprintf("%d: %v", e.Column, err)
	}
	must.Table(t, "testdata/misread.txt", func(in string) string {
		if text, ok := strings.CutPrefix(in, "pod: "); ok {
			return parse(CRI, "run pod", text)
		}
		return parse(Task, "create c0", strings.TrimPrefix(in, "task: "))
	})
	for text, want := range map[string]string{strings.Repeat("x", 2_000): "bytes", "wait \xff": "UTF-8"} {
		got := parse(Task, "create c0", text)
		must.Equal(t, got[:3], "0: ")
		must.Contain(t, got, want)
	}
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
