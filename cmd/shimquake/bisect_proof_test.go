package main

import (
	"encoding/json"
	"flag"
	"io/fs"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/must"
)

// -bisect searches real releases and commits (root; a build each that is tried).
var bisectProof = flag.Bool("bisect", false, "bisect real releases, and commits of a checkout (make bisect-proof)")

func needsBisectProof(t *testing.T) {
	t.Helper()
	if !*bisectProof {
		t.Skip("builds a dozen of containerds: make bisect-proof")
	}
}

// bisected returns the result of a search, which must find something.
func bisected(t *testing.T, args ...string) (a bisectAnswer) {
	t.Helper()
	args = append([]string{"bisect", "--json", "--out", t.TempDir()}, args...)
	got := shimquake(t, nil, args...)
	t.Logf("shimquake %s\n%s%s", strings.Join(args, " "), got.err, got.out)
	if got.status != statusHeld {
		t.Fatalf("status %d", got.status)
	}
	must.Succeed(t, json.Unmarshal([]byte(got.out), &a))
	checkTried(t, a)
	return a
}

// checkTried wants few tried revisions, because each is built: the two ends, and log2 of
// the neighbours between them.
func checkTried(t *testing.T, a bisectAnswer) {
	t.Helper()
	tried := 0
	for _, trial := range a.Trials {
		if trial.Mark != bisect.Skip || trial.Why == "" {
			tried++
		}
	}
	if most := 2 + bits.Len(uint(a.Revisions-2)); tried > most {
		t.Errorf("tried %d of %d revisions, want at most %d", tried, a.Revisions, most)
	}
	if tried < 3 {
		t.Errorf("tried %d: nothing between the ends", tried)
	}
}

func TestBisectProofOfReleases(t *testing.T) {
	needsBisectProof(t)
	for _, tt := range []struct{ bug, name, good, bad, fixed string }{
		{"7496", "umount-delayed", "v1.7.35", "v1.7.2", "v1.7.4"},
		{"8981", "shutdown-error-once", "v2.4.2", "v2.0.13", "v2.4.0"},
	} {
		t.Run(tt.bug, func(t *testing.T) {
			a := bisected(t, tt.name, "--good", tt.good, "--bad", tt.bad)
			if a.Is != "first fixed" || a.First != tt.fixed || len(a.Between) > 0 {
				t.Errorf("%s %s, or %v; want first fixed %s", a.Is, a.First, a.Between, tt.fixed)
			}
		})
	}
}

// A commit is found in a checkout that is made on the spot, by the search and by git
// bisect run, and is the same.
func TestBisectProofOfCommits(t *testing.T) {
	needsBisectProof(t)
	const name = "shutdown-error-once"
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@x"}, args...)...)
		cmd.Dir, cmd.Stderr = dir, t.Output()
		// The command of git bisect run is this test's binary.
		cmd.Env = append(os.Environ(), "SHIMQUAKE_TEST_MAIN=1")
		out, err := cmd.Output()
		must.Succeed(t, err, "git", strings.Join(args, " "), out)
		return strings.TrimSpace(string(out))
	}
	commit := func(about string) string {
		t.Helper()
		git("add", "--all", "--force")
		git("commit", "-q", "-m", about)
		return git("rev-parse", "HEAD")
	}
	git("init", "-q", "-b", "main")
	unpackRelease(t, "v2.4.2", dir)
	good := commit("the release that has the fix")
	touch(t, dir, "one")
	commit("one")
	touch(t, dir, "two")
	commit("two")
	unpackRelease(t, "v2.3.7", dir)
	culprit := commit("the fix is taken back")
	for _, about := range []string{"three", "four", "five"} {
		touch(t, dir, about)
		commit(about)
	}
	bad := git("rev-parse", "HEAD")

	a := bisected(t, name, "--good", good, "--bad", bad, "--source", dir)
	if a.Is != "first bad" || a.First != culprit[:12]+" the fix is taken back" || len(a.Between) > 0 || a.Revisions != 7 {
		t.Errorf("%s %s, or %v, of %d revisions; want %s", a.Is, a.First, a.Between, a.Revisions, culprit)
	}
	if state := git("status", "--porcelain"); state != "" || git("rev-parse", "HEAD") != bad {
		t.Errorf("the checkout was changed: %s", state)
	}

	self := must.Get(os.Executable())(t)
	git("bisect", "start", bad, good)
	t.Log(git("bisect", "run", self, "bisect", "--here", "--out", t.TempDir(), "--runs", "8", name))
	must.Equal(t, git("rev-parse", "refs/bisect/bad"), culprit, "git bisect run found")
}

// touch changes a file of the daemon, and nothing that it does.
func touch(t *testing.T, dir, about string) {
	t.Helper()
	file := filepath.Join(dir, "cmd/containerd/main.go")
	must.Edit(t, file, func(text string) string { return text + "\n// " + about + "\n" })
}

// unpackRelease puts the source of a release into a checkout, and nothing else.
func unpackRelease(t *testing.T, release, dir string) {
	t.Helper()
	wrapper := t.TempDir()
	must.Succeed(t, containerd.WriteModule(t.Context(), release, wrapper))
	from := must.Get(weave.ModuleDir(t.Context(), wrapper, "github.com/containerd/containerd/v2"))(t)
	old := must.Get(fs.ReadDir(os.DirFS(dir), "."))(t)
	for _, e := range old {
		if e.Name() != ".git" {
			must.Succeed(t, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	must.Succeed(t, os.CopyFS(dir, os.DirFS(from)))
}
