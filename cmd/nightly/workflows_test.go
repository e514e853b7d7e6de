package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/must"
)

// workflow is the part of a workflow that these tests read. actionlint checks the rest.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]job
}

type job struct {
	Needs       any
	If          string
	Permissions map[string]string
	Strategy    struct{ Matrix map[string]any }
	Steps       []step
}

type step struct{ Name, Uses, Run, If string }

// needs returns the names of the jobs for which a job waits.
func (j job) needs() (all []string) {
	switch n := j.Needs.(type) {
	case string:
		all = []string{n}
	case []any:
		for _, name := range n {
			all = append(all, name.(string))
		}
	}
	return all
}

const checkout = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	return must.Read(t, filepath.Join(checkout, name))
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	all := map[string]workflow{}
	for _, name := range []string{"ci.yml", "nightly.yml", "release.yml"} {
		var w workflow
		if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/"+name)), &w); err != nil || len(w.Jobs) == 0 {
			t.Fatal(name, err)
		}
		all[name] = w
	}
	return all
}

// Without the gate, a skipped or failed job would go unnoticed.
func TestTheGateWaitsForEveryJob(t *testing.T) {
	jobs := workflows(t)["nightly.yml"].Jobs
	gate := jobs["gate"]
	must.Equal(t, gate.If, "always()", "the gate is skipped where a job is: if")
	for name := range jobs {
		if name != "gate" && !slices.Contains(gate.needs(), name) {
			t.Errorf("the gate does not wait for %s", name)
		}
	}
	for _, want := range []string{"suites", "plan", "sweep", "merge", "more", "proof", "action", "issues"} {
		if _, ok := jobs[want]; !ok {
			t.Errorf("the night has no %s", want)
		}
	}
}

// mayWrite has the write permissions of jobs.
var mayWrite = map[string][]string{
	"nightly.yml issues":  {"issues"},
	"release.yml release": {"contents", "id-token", "attestations"},
}

// A job has only the write permissions that it needs.
func TestLeastPrivilege(t *testing.T) {
	for file, w := range workflows(t) {
		must.Equal(t, len(w.Permissions), 1, file)
		must.Equal(t, w.Permissions["contents"], "read", file)
		for name, j := range w.Jobs {
			for what, may := range j.Permissions {
				if may != "read" && !slices.Contains(mayWrite[file+" "+name], what) {
					t.Errorf("%s: %s may %s %s", file, name, may, what)
				}
			}
		}
	}
}

// An action is named by a commit, or is our own.
func TestActionsArePinned(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)(.*)$`)
	pinned := regexp.MustCompile(`^[\w-]+/[\w/-]+@[0-9a-f]{40}$`)
	released := regexp.MustCompile(`^shimquake/shimquake@v\d+\.\d+\.\d+$`)
	by := map[string]string{}
	for _, file := range []string{".github/workflows/ci.yml", ".github/workflows/nightly.yml",
		".github/workflows/release.yml", "action.yml", ".github/actions/ready/action.yml", ".github/actions/keep/action.yml",
		"docs/in-your-ci.md"} {
		for _, m := range uses.FindAllStringSubmatch(read(t, file), -1) {
			what, comment := m[1], m[2]
			if strings.HasPrefix(what, "./") || released.MatchString(what) && file == "docs/in-your-ci.md" {
				continue
			}
			if !pinned.MatchString(what) || !strings.HasPrefix(comment, " # v") {
				t.Errorf("%s: %s%s is not pinned by a commit, with its version beside it", file, what, comment)
			}
			action, commit, _ := strings.Cut(what, "@")
			if old := by[action]; old != "" && old != commit {
				t.Errorf("%s: %s is of another commit elsewhere", file, action)
			}
			by[action] = commit
		}
	}
	if len(by) < 4 {
		t.Errorf("only %v is used: are the files read?", by)
	}
}

// Every step of the night can be run by hand: it is a target of the Makefile, and
// docs/nightly.md documents it.
func TestEveryStepIsATarget(t *testing.T) {
	makefile, page := read(t, "Makefile"), read(t, "docs/nightly.md")
	called := regexp.MustCompile(`\bmake ("\$TARGET"|[a-z0-9-]+)`)
	has := func(target string) {
		must.Contain(t, makefile, "\n"+target+": ## ", "the Makefile")
		must.Contain(t, page, "make "+target, "docs/nightly.md")
	}
	for name, j := range workflows(t)["nightly.yml"].Jobs {
		n := 0
		for _, s := range j.Steps {
			if s.Uses == "./" { // our action
				n++
			}
			for _, m := range called.FindAllStringSubmatch(s.Run, -1) {
				n++
				if m[1] != `"$TARGET"` {
					has(m[1])
					continue
				}
				for _, target := range j.targets() {
					has(target)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s calls no target", name)
		}
	}
}

// A proof that only people run is soon out of date. So each target that calls
// scripts/proof must be a row of the job proof.
func TestEveryProofIsARow(t *testing.T) {
	proofs := regexp.MustCompile(`(?m)^([a-z-]+): ## .*\n\t@scripts/proof ([a-z-]+) `).
		FindAllStringSubmatch(read(t, "Makefile"), -1)
	if len(proofs) < 5 {
		t.Fatalf("only %v: is the Makefile read?", proofs)
	}
	rows := workflows(t)["nightly.yml"].Jobs["proof"].targets()
	for _, p := range proofs {
		if target, name := p[1], p[2]; !slices.Contains(rows, target) || name != target {
			t.Errorf("the night's proof has no row %s, or its results are under another name: %s", target, name)
		}
	}
}

// forPeople are the test flags that make files for people to look at.
var forPeople = []string{"report/chromium_test.go -shots", "report/chromium_test.go -report"}

// A test flag that no target sets leaves its test short or skipped.
func TestEveryFlagOfATestIsGiven(t *testing.T) {
	given := read(t, "Makefile")
	files, err := filepath.Glob(filepath.Join(checkout, "scripts/*"))
	must.Succeed(t, err)
	for _, f := range files {
		given += read(t, "scripts/"+filepath.Base(f))
	}
	defined := regexp.MustCompile(`\bflag\.[A-Z]\w+\("([\w-]+)"`)
	n := 0
	err = fs.WalkDir(os.DirFS(checkout), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		for _, m := range defined.FindAllStringSubmatch(read(t, name), -1) {
			n++
			where := name + " -" + m[1]
			is := regexp.MustCompile(`\s-` + m[1] + `\b`).MatchString(given)
			if !is && !slices.Contains(forPeople, where) {
				t.Errorf("no target gives %s", where)
			}
		}
		return nil
	})
	if err != nil || n < 7 {
		t.Errorf("%d flags: %v", n, err)
	}
}

// targets returns the targets of a matrix.
func (j job) targets() (all []string) {
	names, _ := j.Strategy.Matrix["name"].([]any)
	for _, n := range names {
		all = append(all, "nightly-"+n.(string))
	}
	rows, _ := j.Strategy.Matrix["include"].([]any)
	for _, r := range rows {
		all = append(all, r.(map[string]any)["target"].(string))
	}
	return all
}

// The workflow in docs/in-your-ci.md uses inputs that the action has.
func TestTheWorkflowToPaste(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "docs/in-your-ci.md"), "```text\n")
	block, _, closed := strings.Cut(rest, "```")
	var pasted struct {
		On          []string
		Permissions map[string]string
		Jobs        map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
			}
		}
	}
	var action struct{ Inputs map[string]any }
	err := yaml.Unmarshal([]byte(read(t, "action.yml")), &action)
	if err == nil {
		err = yaml.Unmarshal([]byte(block), &pasted)
	}
	if err != nil || !closed || len(action.Inputs) == 0 || len(pasted.On) != 2 || len(pasted.Permissions) != 1 {
		t.Fatalf("%v: %+v, %+v", err, pasted, action)
	}
	used := false
	for _, s := range pasted.Jobs["sweep"].Steps {
		if !strings.HasPrefix(s.Uses, "shimquake/shimquake@") {
			continue
		}
		used = true
		for name := range s.With {
			if _, ok := action.Inputs[name]; !ok {
				t.Errorf("the action has no input %s", name)
			}
		}
	}
	if !used {
		t.Error("it does not use the action")
	}
	for name := range action.Inputs {
		must.Contain(t, read(t, "docs/in-your-ci.md"), "\n`"+name+"` | ", "an input in the page")
	}
}

func TestGate(t *testing.T) {
	for needs, isGreen := range map[string]bool{
		`{"a":{"result":"success","outputs":{}},"b":{"result":"success"}}`: true,
		`{"a":{"result":"success"},"b":{"result":"failure"}}`:              false,
		`{"a":{"result":"skipped"}}`:                                       false,
		`{"a":{}}`:                                                         false,
		`{}`:                                                               false,
		``:                                                                 false,
	} {
		cmd := exec.CommandContext(t.Context(), "../../scripts/nightly", "gate")
		cmd.Env = append(os.Environ(), "NEEDS="+needs)
		out, err := cmd.CombinedOutput()
		if (err == nil) != isGreen || isGreen && !strings.Contains(string(out), "| b | success |\n") {
			t.Errorf("NEEDS=%s: %v\n%s", needs, err, out)
		}
	}
}
