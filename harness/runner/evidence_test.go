package runner

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/must"
)

// A finished run is judged once, and that verdict is returned and kept. The preliminary
// verdict before has a verdict of its own, because the rest of the run depends on it.
func TestARunIsJudgedOnce(t *testing.T) {
	must.TakeLong(t, "runs containerd")
	for name, harm := range map[string]func(context.Context, Scene) error{
		"held": nil,
		"violated": func(ctx context.Context, s Scene) error {
			return signalContainerd(ctx, s, unix.SIGKILL)
		},
	} {
		times := 0
		r := &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir(), KeepAll: true, Sabotage: harm,
			judged: func() { times++ }}
		v := ranBy(t.Context(), t, r, harness.Case{Name: name})
		text, err := os.ReadFile(filepath.Join(v.Evidence, harness.HistoryFile))
		must.Succeed(t, err, v)
		k := must.Get(harness.DecodeKept(name, text))(t)
		again := rejudge.Kept(k)
		if times != 2 || string(v.Outcome) != name || !judge.Same(v, k.Verdict) || !judge.Same(v, again) {
			t.Errorf("judged %d times: %v; kept %v; again %v", times, v, k.Verdict, again)
		}
		if v.Took == 0 || v.CPU == 0 || again.Took != v.Took || again.CPU != v.CPU || again.Evidence != v.Evidence {
			t.Errorf("took %s, cpu %s, evidence %s; again %s, %s, %s", v.Took, v.CPU, v.Evidence,
				again.Took, again.CPU, again.Evidence)
		}
	}
}

// A broken containerd may leave links and FIFOs in place of its logs.
func TestTheEvidenceHasNothingOfTheHost(t *testing.T) {
	must.TakeLong(t, "runs containerd")
	const secret = "of the host"
	host := filepath.Join(t.TempDir(), "host")
	must.Succeed(t, os.WriteFile(host, []byte(secret), 0o600))
	ctx := must.Within(t, time.Minute)
	r := &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir(), KeepAll: true,
		Sabotage: func(_ context.Context, s Scene) error {
			in := func(name string) string { return filepath.Join(s.World.Dir(), name) }
			return errors.Join(os.Symlink(host, in("host.log")), os.Symlink("/dev/zero", in("endless.log")),
				unix.Mkfifo(in("waits.log"), 0o600))
		}}
	v := ranBy(ctx, t, r, harness.Case{Name: "hostile"})
	for name, is := range map[string]string{
		"host.log": "a symbolic link", "endless.log": "a symbolic link", "waits.log": "a FIFO",
		"containerd.log": "containerd",
	} {
		text, err := os.ReadFile(filepath.Join(v.Evidence, name))
		if err != nil || !strings.Contains(string(text), is) || strings.Contains(string(text), secret) {
			t.Errorf("%s: %q, %v: %v", name, text, err, v)
		}
	}
}

// The shell passes the name of the containerd to the program unchanged, for any name.
func TestReplayScript(t *testing.T) {
	dir := t.TempDir()
	program := "#!/bin/sh\nprintf '%s' \"$3\"\n"
	must.Succeed(t, child.WriteProgram(filepath.Join(dir, "shimquake"), []byte(program)))
	odd := filepath.Join(dir, "it's a $program")
	must.Succeed(t, os.Symlink("shimquake", odd))
	for _, name := range []string{"v2.4.2", "src:/a b", "src:/$HOME/`id`", `bin:/it's "here"`, `src:/a\n$(id)`} {
		system := os.Getenv("PATH")
		for program, path := range map[string]string{odd: system, "/gone/shimquake": dir + ":" + system} {
			script := must.Get(replayScript(program, name))(t)
			c := exec.CommandContext(t.Context(), "sh", "-c", script)
			c.Env = []string{"PATH=" + path, "HOME=/root"}
			must.Equal(t, string(must.Get(c.CombinedOutput())(t)), name, "by", program)
		}
	}
	must.Fail(t, must.ErrorOf(replayScript("/x", "src:/a\x00b")), "a name that no shell can quote was accepted")
}

// Another user may have access to --out, so evidence is not written through a link.
func TestEvidenceIsNotWrittenThroughALink(t *testing.T) {
	out, victim := t.TempDir(), t.TempDir()
	must.Succeed(t, os.Symlink(victim, filepath.Join(out, "evidence")))
	x := newBareWorld(t, &Runner{Residues: catalogue.Residues(), Evidence: filepath.Join(out, "evidence")}).x
	if dir, err := x.evidenceDir(); err == nil {
		t.Errorf("the evidence is kept in %s", dir.Name())
	}
	must.Len(t, must.Get(os.ReadDir(victim))(t), 0, "the folder behind the link has")
}
