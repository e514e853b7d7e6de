package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// The specs of a folder run because suites_test.go imports the folder.
func TestEveryFolderOfSpecsRuns(t *testing.T) {
	imports := must.Get(os.ReadFile("../../suites/suites_test.go"))(t)
	folders, err := filepath.Glob("../../suites/*/*.go")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folder of specs: %v", err)
	}
	for _, file := range folders {
		folder := filepath.Base(filepath.Dir(file))
		must.Contain(t, string(imports), `/suites/`+folder+`"`, "suites/suites_test.go")
	}
}

// A missing linter is reported, and fails a strict run.
func TestAMissingLinter(t *testing.T) {
	programs := t.TempDir()
	for _, name := range []string{"bash", "dirname"} { // without shellcheck and vagrant
		path := must.Get(exec.LookPath(name))(t)
		must.Succeed(t, os.Symlink(path, filepath.Join(programs, name)))
	}
	for _, linter := range []string{"shellcheck", "vagrant"} {
		for strict, status := range map[string]int{"": 0, "1": 1} {
			cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "bash"), "../../scripts/check", linter)
			cmd.Env = []string{"PATH=" + programs, "STRICT=" + strict}
			out, err := cmd.CombinedOutput()
			says := strings.Contains(string(out), "not run: "+linter+" is not installed")
			if !says || cmd.ProcessState.ExitCode() != status {
				t.Errorf("%s, STRICT=%s: %v, %q; want status %d", linter, strict, err, out, status)
			}
		}
	}
}

// scripts/size finds each list that it counts, and counts the keys correctly.
func TestSizeFindsTheLists(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "../../scripts/size", "../..").CombinedOutput()
	must.Succeed(t, err, out)
	keys := 0
	for _, of := range []reflect.Type{reflect.TypeFor[harness.Workload](), reflect.TypeFor[harness.Container]()} {
		for i := range of.NumField() {
			if of.Field(i).Tag.Get("yaml") != "" {
				keys++
			}
		}
	}
	want := fmt.Sprintf("| keys of a workload and its containers | %d |\n", keys)
	must.Contain(t, string(out), want)
	for _, what := range []string{"rules of the judge", "kinds of `what=`", "facts", "mutations"} {
		if !regexp.MustCompile(`(?m)^\| ` + what + ` \| [1-9]\d+ \|$`).Match(out) {
			t.Errorf("there is no number of %s in: %s", what, out)
		}
	}
}

// Any alert of Vale in a file of the checkout fails `make lint`.
func TestProseFailsForAnyAlert(t *testing.T) {
	dir := t.TempDir()
	script := must.Get(os.ReadFile("../../scripts/prose"))(t)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, child.WriteProgram(path, []byte(text)))
	}
	run := func(name string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	check := func(what string, status int, says []string, args ...string) {
		t.Helper()
		out, is := run("scripts/prose", args...)
		must.Equal(t, is, status, what, "status of", out)
		for _, text := range says {
			must.Contain(t, out, text, what)
		}
	}
	// A script replaces Vale: it finds the word "bad", and also reads files that git
	// ignores.
	write("scripts/tool", "#!/bin/sh\n"+
		"grep -rn bad --include='*.go' . | sed 's,^\\./,,; s,:\\([0-9]*\\):.*,:\\1:1:Plain.Rule:bad,'\n")
	write("scripts/prose", string(script))
	write(".gitignore", "ignored.go\n")
	write("a/ignored.go", "bad\n")
	write("a/x.go", "good\n")
	if out, status := run("git", "init", "-q"); status != 0 {
		t.Fatal(out)
	}

	check("no alert", 0, nil)
	write("a/x.go", "bad\n\nbad\n")
	write("b/y.go", "bad\n")
	check("alerts", 1, []string{"a/x.go:1:1:", "a/x.go:3:1:", "b/y.go:1:1:", "rewrite these sentences"})
	check("all alerts of a folder", 0, []string{"b/y.go:1:1:"}, "b/")
	check("a wrong call", 2, []string{"usage:", "FOLDER"}, "--update")
}
