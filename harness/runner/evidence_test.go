package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The shell gives the program the containerd as it was named, whatever stands in it.
func TestReplayScript(t *testing.T) {
	dir := t.TempDir()
	program := "#!/bin/sh\nprintf '%s' \"$3\"\n"
	if err := os.WriteFile(filepath.Join(dir, "shimquake"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v2.4.2", "src:/a b", "src:/$HOME/`id`", `bin:/it's "here"`, `src:/a\n$(id)`} {
		script, err := replayScript(name)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "sh", "-c", script)
		c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=/root"}
		if out, err := c.CombinedOutput(); err != nil || string(out) != name {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if _, err := replayScript("src:/a\x00b"); err == nil {
		t.Error("no shell can be given that name")
	}
}
