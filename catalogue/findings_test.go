package catalogue

import (
	"os"
	"strings"
	"testing"
)

const leak = `id: shim-left
about: why
releases: ">= 2.0.0, < 2.4.0"
match:
  - shim task=none
where: ["shim Task.*"]
case:
  name: shim-left
  workload:
    containers:
      - exit: 7
  plan:
    - at: rpc:shim:Task.Shutdown:entry
      do: 1*error(injected)
`

func TestParseFinding(t *testing.T) {
	f, err := ParseFinding("x.yaml", []byte(leak))
	if err != nil {
		t.Fatal(err)
	}
	if f.Case.Plan[0].At.String() != "rpc:shim:Task.Shutdown:entry" {
		t.Errorf("case %v", f.Case)
	}
	f.Cases = map[string]int{"v2.3.7": 3}
	for release, want := range map[string]int{"v2.3.7": 3, "v2.3.7+unknown": 3, "v2.3.8": 0, "main": 0} {
		if got := f.Most(release); got != want {
			t.Errorf("%s: at most %d cases, want %d", release, got, want)
		}
	}
	for release, want := range map[string]bool{"v2.3.7": true, "v2.4.2": false, "v2.0.0-rc.1": true, "v1.7.35": false,
		"a1b2c3": false} {
		if f.Applies(release) != want {
			t.Errorf("%s: %v", release, !want)
		}
	}
}

func TestParseFindingRefuses(t *testing.T) {
	for name, replace := range map[string][2]string{
		"a key that nobody knows":  {"about:", "abuot:"},
		"an unknown class":         {"- shim", "- shimm"},
		"an unknown fact":          {"task=none", "tusk=none"},
		"an unknown value":         {"task=none", "task=nine"},
		"a fact of one case":       {"task=none", "task-pid=7"},
		"a bad range":              {"< 2.4.0", "<< 2.4.0"},
		"a bad pattern":            {"Task.*", "Task.["},
		"another case's name":      {"  name: shim-left", "  name: another"},
		"an unknown point":         {"Task.Shutdown", "Task.Shutdwn"},
		"a status of anybody":      {"shim task=none", "exit-code status=made-up-255"},
		"an end with any status":   {"shim task=none", "containerd what=death"},
		"no place":                 {"where: [\"shim Task.*\"]\n", ""},
		"cases of another release": {"about:", "cases: {v2.4.2: 3}\nabout:"},
		"no cases at all":          {"about:", "cases: {v2.3.7: 0}\nabout:"},
		"no match":                 {"match:\n  - shim task=none\n", ""},
		"no case":                  {leak[strings.Index(leak, "case:"):], ""},
	} {
		if _, err := ParseFinding("x.yaml", []byte(strings.Replace(leak, replace[0], replace[1], 1))); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestFindingsAreTold asks the documentation for each known finding: data that nobody can
// read about is an excuse.
func TestFindingsAreTold(t *testing.T) {
	text, err := os.ReadFile("../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Findings() {
		if !strings.Contains(string(text), "\n| "+f.ID+" | ") {
			t.Errorf("docs/findings.md has no row for %s", f.ID)
		}
	}
}
