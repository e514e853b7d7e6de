package weave

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestApplyEdits(t *testing.T) {
	const src = "a(b)\nc\n"
	for name, tt := range map[string]struct {
		edits []Edit
		want  string // "" for an error
	}{
		"none":                   {nil, src},
		"wrap":                   {[]Edit{{0, 0, "f("}, {1, 1, ")"}}, "f(a)(b)\nc\n"},
		"unsorted":               {[]Edit{{1, 1, ")"}, {0, 0, "f("}}, "f(a)(b)\nc\n"},
		"replace":                {[]Edit{{0, 1, "x.y"}}, "x.y(b)\nc\n"},
		"same place":             {[]Edit{{0, 0, "1"}, {0, 0, "2"}}, "12a(b)\nc\n"},
		"overlap":                {[]Edit{{0, 2, "x"}, {1, 3, "y"}}, ""},
		"outside":                {[]Edit{{6, 99, "x"}}, ""},
		"backwards":              {[]Edit{{3, 2, "x"}}, ""},
		"adds a line":            {[]Edit{{0, 0, "x\n"}}, ""},
		"removes the end of one": {[]Edit{{4, 5, ""}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ApplyEdits([]byte(src), tt.edits)
			must.Equal(t, err != nil, tt.want == "")
			must.Equal(t, string(got), tt.want)
		})
	}
}

func FuzzApplyEdits(f *testing.F) {
	f.Add("a(b)\nc\n", 0, 0, "f(", 1, 1, ")")
	f.Add("abc", 2, 1, "x", -1, 9, "\n")
	f.Fuzz(func(t *testing.T, src string, s1, e1 int, t1 string, s2, e2 int, t2 string) {
		out, err := ApplyEdits([]byte(src), []Edit{{s1, e1, t1}, {s2, e2, t2}})
		if err != nil {
			return
		}
		must.Equal(t, bytes.Count(out, []byte("\n")), strings.Count(src, "\n"), "lines")
		must.Equal(t, len(out), len(src)-(e1-s1)-(e2-s2)+len(t1)+len(t2), "bytes")
	})
}
