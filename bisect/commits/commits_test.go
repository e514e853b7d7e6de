package commits

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
)

// repository has main: one, two, three (a merge of side), four; other branches off at
// two.
func repository(t *testing.T) string {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=n", "-c", "user.email=e@x"}, args...)
		must.Get(git(t.Context(), dir, args...))(t)
	}
	commit := func(text string) {
		t.Helper()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600))
		run("add", "file")
		run("commit", "-q", "-m", text)
	}
	run("init", "-q", "-b", "main")
	commit("one")
	commit("two")
	run("checkout", "-q", "-b", "other")
	run("commit", "-q", "--allow-empty", "-m", "elsewhere")
	run("checkout", "-q", "-b", "side", "main")
	commit("aside")
	run("checkout", "-q", "main")
	run("merge", "-q", "--no-ff", "-m", "three", "side")
	commit("four")
	return dir
}

func TestBetween(t *testing.T) {
	dir := repository(t)
	c := must.Get(Open(t.Context(), dir, t.TempDir(), func() {}))(t)
	for _, tt := range []struct {
		a, b, want string
		aIsOld     bool
		err        string
	}{
		{"main~3", "main", "one two three four", true, ""},
		{"main", "main~3", "one two three four", false, ""},
		{"main~1", "main", "three four", true, ""},
		{"main", "main", "", false, "the same commit"},
		{"other", "main", "", false, "neither of other and main is an ancestor"},
		{"none", "main", "", false, `no commit "none"`},
		{"--all", "main", "", false, `no commit "--all"`},
	} {
		all, aIsOld, err := c.Between(t.Context(), tt.a, tt.b)
		var got []string
		for _, commit := range all {
			got = append(got, commit.Subject)
		}
		if strings.Join(got, " ") != tt.want || aIsOld != tt.aIsOld || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s..%s: %q, %v, %v; want %+v", tt.a, tt.b, got, aIsOld, err, tt)
		}
	}
	must.Succeed(t, c.Close())
}

// The user's checkout and its repository stay unchanged.
func TestSelectTouchesNothingElse(t *testing.T) {
	dir := repository(t)
	mine := filepath.Join(dir, "file")
	must.Succeed(t, os.WriteFile(mine, []byte("not committed"), 0o600))
	state := func() string {
		var all []string
		for _, args := range [][]string{{"status", "--porcelain"}, {"for-each-ref"}, {"worktree", "list"}} {
			out := must.Get(git(t.Context(), dir, args...))(t)
			all = append(all, out)
		}
		return strings.Join(all, "\n")
	}
	was := state()
	c := must.Get(Open(t.Context(), dir, t.TempDir(), func() {}))(t)
	all, _, err := c.Between(t.Context(), "main~3", "main")
	must.Succeed(t, err)
	for _, i := range []int{3, 0, 1} {
		must.Succeed(t, os.WriteFile(filepath.Join(c.Dir, "left"), nil, 0o600))
		must.Succeed(t, c.Select(t.Context(), all[i].Hash))
		text := must.Get(os.ReadFile(filepath.Join(c.Dir, "file")))(t)
		must.Equal(t, string(text), all[i].Subject, "holds")
		must.Fail(t, must.ErrorOf(os.Stat(filepath.Join(c.Dir, "left"))), "what a build had left is still there")
	}
	must.Succeed(t, c.Close())
	must.Fail(t, must.ErrorOf(os.Stat(c.Dir)), "the clone is left")
	must.Equal(t, state(), was, "the repository has changed")
	must.Equal(t, must.Read(t, mine), "not committed", "the user's file is")
}

func TestOpenOfNoRepository(t *testing.T) {
	_, err := Open(t.Context(), t.TempDir(), t.TempDir(), nil)
	must.FailWith(t, err, "not a git checkout")
}

// A killed bisect has left its clone, and no lock.
func TestOpenAfterAKill(t *testing.T) {
	dir, cache := repository(t), t.TempDir()
	c := must.Get(Open(t.Context(), dir, cache, nil))(t)
	waits := 0
	ctx := must.Within(t, 50*time.Millisecond)
	if _, err := Open(ctx, dir, cache, func() { waits++ }); !errors.Is(err, context.DeadlineExceeded) || waits != 1 {
		t.Errorf("while the other lives: %v, waited %d times", err, waits)
	}
	c.unlock()
	again := must.Get(Open(t.Context(), dir, cache, nil))(t)
	must.Succeed(t, again.Close())
	if left, _ := filepath.Glob(filepath.Join(cache, "*")); len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
		t.Errorf("left %v", left)
	}
}
