package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/itchyny/gojq/cli"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// TestMain lets the binary of the test be the program itself. So tests see its exit
// status and output.
func TestMain(m *testing.M) {
	if os.Getenv("SHIMQUAKE_TEST_MAIN") != "" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"shimquake": main, "jq": func() { os.Exit(cli.Run()) }})
}

// answer is the output and the status of the program.
type answer struct {
	status   int
	out, err string
}

func shimquake(t *testing.T, as *syscall.Credential, args ...string) answer {
	t.Helper()
	ctx := must.Within(t, time.Hour) // a first build takes minutes, and a bisect has several
	self, err := os.Executable()
	must.Succeed(t, err)
	if as != nil { // that user must be able to execute it
		self = reachable(t, self)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), "SHIMQUAKE_TEST_MAIN=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return answer{cmd.ProcessState.ExitCode(), out.String(), complaint.String()}
}

// reachable is a copy of a program that everybody may execute.
func reachable(t *testing.T, program string) string {
	t.Helper()
	dir := must.ShortDir(t)
	text := must.Get(os.ReadFile(program))(t)
	to := filepath.Join(dir, "shimquake")
	for _, err := range []error{os.Chmod(dir, 0o755), child.WriteProgram(to, text)} {
		must.Succeed(t, err)
	}
	return to
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "case.yaml")
	must.Succeed(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// A sweep with a damaged file is a wrong input, whichever command reads it.
func TestADamagedSweepHasOneStatus(t *testing.T) {
	for name, test := range map[string]struct {
		file   string
		damage func(name string) error
		says   string
	}{
		"histories that are cut off": {harness.HistoriesFile,
			func(name string) error { return os.Truncate(name, 1000) }, "incomplete"},
		"no histories": {harness.HistoriesFile, os.Remove, "the histories are "},
		"histories of a FIFO": {harness.HistoriesFile, func(name string) error {
			return errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600))
		}, harness.HistoriesFile + " is a FIFO, not a regular file"},
		"a long line": {"journal.jsonl", func(name string) error { return os.Truncate(name, 200<<20) },
			"journal.jsonl:4: the line is larger than 128 MiB"},
	} {
		dir := t.TempDir()
		violated := must.Get(evidenceHere(dir, "violated"))(t)
		must.Succeed(t, sweptHere(dir, "1/1", []harness.Kept{violated, violated}))
		must.Succeed(t, test.damage(filepath.Join(dir, test.file)))
		for _, args := range [][]string{
			{"judge", dir}, {"report", "--out", t.TempDir(), dir}, {"sweep", "--resume", dir},
		} {
			if os.Geteuid() != 0 && args[0] == "sweep" {
				continue // it needs root
			}
			a := shimquake(t, nil, args...)
			if a.status != statusUsage || !strings.Contains(a.err, test.says) {
				t.Errorf("%s: %v: status %d, %s; want 2 and %q", name, args, a.status, a.err, test.says)
			}
		}
	}
}

// A machine or a user that cannot run a case makes it invalid: status 3, and what to do.
func TestNotRoot(t *testing.T) {
	t.Parallel()
	must.BeRoot(t, "to become somebody else")
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	for _, args := range [][]string{{"run", "shutdown-error-once"}, {"gc"}} {
		a := shimquake(t, nobody, args...)
		if a.status != statusInvalid || !strings.Contains(a.err, "not root") || !strings.Contains(a.err, "sudo") {
			t.Errorf("%v: status %d, %q; want 3 and advice", args, a.status, a.err)
		}
	}
	if a := shimquake(t, nobody, "list", "cases"); a.status != statusHeld ||
		!strings.Contains(a.out, "shutdown-error-once") {
		t.Errorf("list: status %d, %q, %q; a list is for everybody", a.status, a.out, a.err)
	}
	if a := shimquake(t, nobody, "run", "shutdown-eror-once"); a.status != statusUsage {
		t.Errorf("a wrong name: status %d, %q", a.status, a.err)
	}
}

// A containerd ends the init of its world while it boots, and while it takes the images
// of payloads. The user has made no mistake.
func TestAnInitThatEndsIsInvalid(t *testing.T) {
	t.Parallel()
	must.BeRoot(t, "for worlds")
	subject := must.Get(containerd.Resolve(t.Context(), "", containerd.Options{Log: t.Output()}))(t)
	for name, script := range map[string]string{
		"boots":        `kill -QUIT 1`, // the Go runtime hears of it, and exits
		"takes images": `(while ! test -S $(dirname $2)/containerd.sock; do :; done; kill -QUIT 1) &`,
	} {
		dir := t.TempDir()
		for _, program := range []string{subject.Shim, subject.Runc} {
			must.Succeed(t, os.Symlink(program, filepath.Join(dir, filepath.Base(program))))
		}
		text := fmt.Sprintf("#!/bin/sh\n[ $1 = --version ] || { %s\n}\nexec %s \"$@\"\n", script, subject.Containerd)
		must.Succeed(t, child.WriteProgram(filepath.Join(dir, "containerd"), []byte(text)))
		a := shimquake(t, nil, "build", "bin:"+dir)
		if a.status != statusInvalid || !strings.HasPrefix(a.err, "shimquake: the world's init has ended") {
			t.Errorf("while it %s: status %d, %q", name, a.status, a.err)
		}
	}
}

// The exit status of real runs: held, violated, and a fault that does not fire.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	must.BeRoot(t, "for worlds")
	for _, test := range []struct {
		name, text string
		status     int
		verdict    string
		says       string
	}{
		{"held", "name: held\nplan:\n  - {at: \"rpc:shim:Task.Shutdown:entry\", do: 1*error(x)}\n", statusHeld, "held",
			"fired once"},
		{"violated", "name: violated\nworkload: {fakeshim: exit=137, containers: [{exit: 7}]}\n", statusViolated,
			"violated", "made-up-137"},
		{"does not fire", "name: unfired\nplan:\n  - {at: \"rpc:shim:Task.Pause:entry\", do: 1*error(x)}\n", statusInvalid,
			"invalid", "did not fire"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := shimquake(t, nil, "run", "--json", "--out", t.TempDir(), file(t, test.text))
			if strings.Contains(a.out, `"unable":true`) {
				t.Skip(a.out)
			}
			var v struct{ Verdict string }
			if err := json.Unmarshal([]byte(a.out), &v); err != nil {
				t.Fatalf("%v: %q, %q", err, a.out, a.err)
			}
			if a.status != test.status || v.Verdict != test.verdict || !strings.Contains(a.out, test.says) {
				t.Errorf("status %d, %s %s; want %d, %s and %q", a.status, a.out, a.err, test.status, test.verdict, test.says)
			}
		})
	}
}
