package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A linter that is not there is said, and in a strict run red.
func TestAMissingLinter(t *testing.T) {
	programs := t.TempDir()
	for _, name := range []string{"bash", "dirname"} { // and neither shellcheck nor vagrant
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
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
