package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// testName is the name of a Go test in a page.
var testName = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")

// Each test that SECURITY.md names exists, and each promise names a test.
func TestPromisesAreTested(t *testing.T) {
	page := must.Get(os.ReadFile(filepath.Join(checkout, "SECURITY.md")))(t)
	_, promises, _ := strings.Cut(string(page), "## What it promises")
	promises, _, ok := strings.Cut(promises, "\n## ")
	rows := strings.Split(promises, "\n| ")[2:] // after the head
	if !ok || len(rows) < 8 {
		t.Fatalf("SECURITY.md has %d promises", len(rows))
	}
	tests := map[string]bool{}
	for _, row := range rows {
		names := testName.FindAllStringSubmatch(row, -1)
		if len(names) == 0 {
			t.Errorf("no test keeps the promise %q", row)
		}
		for _, name := range names {
			tests[name[1]] = true
		}
	}
	must.Succeed(t, filepath.WalkDir(checkout, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && strings.HasPrefix(e.Name(), ".git") {
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for name := range tests {
			if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {") {
				delete(tests, name)
			}
		}
		return err
	}))
	for name := range tests {
		t.Errorf("SECURITY.md names %s, and there is no such test", name)
	}
}
