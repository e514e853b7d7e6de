package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shimquake/shimquake/must"
)

const (
	headLine = `{"type":"head","shimquake":"results","format":1}` + "\n"
	caseLine = `{"type":"case","id":"case-4","verdict":"violated","containerd":"v2.4.2","replay":"run it"}` + "\n" +
		`{"type":"case","id":"case-2","verdict":"violated","containerd":"v2.4.2","evidence":"evidence/b"}` + "\n"
	endLine = `{"type":"end","cases":2}` + "\n"
)

func cluster(state State) string {
	return `{"type":"cluster","id":"shim-2","state":"` + string(state) +
		`","key":"k1","title":"a shim","says":["mark x"],"cases":["case-4","case-2"],"replay":"other"}` + "\n"
}

func read(t *testing.T, text string) ([]Finding, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), ResultsFile)
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o644))
	return Findings(file)
}

func TestFindings(t *testing.T) {
	want := Finding{
		Key:      "k1",
		Title:    "a shim",
		Says:     []string{"mark x"},
		Cases:    2,
		Version:  "v2.4.2",
		Replay:   "run it",
		Evidence: "evidence/b",
	}
	for state, found := range map[State]bool{New: true, More: true, Gone: true, Unreproduced: false, Known: false} {
		all, err := read(t, headLine+caseLine+cluster(state)+`{"type":"of tomorrow"}`+"\n"+endLine)
		if err != nil || (len(all) == 1) != found {
			t.Fatalf("%s: %+v, %v", state, all, err)
		}
		want.State = state
		if found && !cmp.Equal(all[0], want) {
			t.Errorf("%s: %s", state, cmp.Diff(want, all[0]))
		}
	}
	caseless := strings.Replace(cluster(Gone), `["case-4","case-2"]`, "[]", 1)
	if all, err := read(t, headLine+caseless+endLine); err != nil || len(all) != 1 || all[0].Replay != "other" {
		t.Errorf("of no case: %+v, %v", all, err)
	}
}

// Half a file is an error, and not a file with fewer findings.
func TestResultsThatCannotBeTrusted(t *testing.T) {
	whole := headLine + caseLine + cluster(New) + endLine
	for name, text := range map[string]string{
		"no end":          headLine + caseLine + cluster(New),
		"torn at the end": whole[:len(whole)-3],
		"empty":           "",
		"no head":         caseLine + endLine,
		"another format":  strings.Replace(whole, `"format":1`, `"format":2`, 1),
		"other text":      "hello\n",
		"two files":       whole + whole,
		"too many values": strings.Replace(whole, `"case"`, `"case","x":[`+strings.Repeat("1,", 1_000_000)+"1]", 1),
		"a long line":     headLine + strings.Repeat(" ", 64<<20) + caseLine + endLine,
	} {
		all, err := read(t, text)
		if err == nil || len(all) > 0 && name != "two files" {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
		if cut := name == "no end" || name == "empty" || name == "torn at the end"; errors.Is(
			err,
			ErrCutOff,
		) != cut {
			t.Errorf("%s: %v", name, err)
		}
	}
}
