// Package commits checks out one commit after the other of a git repository, and leaves
// the repository as it is. It uses its own clone, which shares the repository's objects.
package commits

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/fixtures/gobuild"
)

// Clone is a clone of a repository. Close removes it.
type Clone struct {
	source string // the repository, which is only read
	unlock func()
	Dir    string // the folder of the selected commit
}

// Commit is one of the commits between two others.
type Commit struct{ Hash, Subject string }

// Open clones the git repository that contains source into a folder of cache. The clone
// lacks uncommitted changes. It replaces a clone that a killed process left. If another
// process uses a clone of the same repository, Open calls onWait once, and waits until
// that process closes it.
func Open(ctx context.Context, source, cache string, onWait func()) (*Clone, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	top, err := git(ctx, source, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%s is not a git checkout: %w", source, err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(top))
	c := &Clone{source: top, Dir: filepath.Join(cache, hex.EncodeToString(hash[:6]))}
	if c.unlock, err = gobuild.Lock(ctx, c.Dir+".lock", onWait); err != nil {
		return nil, err
	}
	err = os.RemoveAll(c.Dir)
	if err == nil {
		_, err = git(ctx, cache, "clone", "--quiet", "--shared", "--no-checkout", top, c.Dir)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close removes the clone.
func (c *Clone) Close() error {
	defer c.unlock()
	return os.RemoveAll(c.Dir)
}

// Between returns the commits from one to another, both included, the oldest first. It
// follows only first parents, so a merged branch appears as its merge. aIsOld reports
// whether a is the older one.
func (c *Clone) Between(ctx context.Context, a, b string) (all []Commit, aIsOld bool, err error) {
	var hashes [2]string
	for i, name := range []string{a, b} {
		hashes[i], err = git(ctx, c.source, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if err != nil {
			return nil, false, fmt.Errorf("%s has no commit %q", c.source, name)
		}
	}
	switch {
	case hashes[0] == hashes[1]:
		return nil, false, fmt.Errorf("%s and %s are the same commit", a, b)
	case isAncestor(ctx, c.source, hashes[0], hashes[1]):
		aIsOld = true
	case isAncestor(ctx, c.source, hashes[1], hashes[0]):
		hashes[0], hashes[1] = hashes[1], hashes[0]
	default:
		return nil, false, fmt.Errorf("neither of %s and %s is an ancestor of the other: name two of one branch", a, b)
	}
	const format = "--format=tformat:%H %s"
	first, err := git(ctx, c.source, "log", "-1", format, hashes[0])
	if err != nil {
		return nil, false, err
	}
	rest, err := git(ctx, c.source, "log", "--first-parent", "--reverse", format, hashes[0]+".."+hashes[1])
	if err != nil {
		return nil, false, err
	}
	for line := range strings.Lines(first + "\n" + rest) {
		hash, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, Commit{hash, subject})
	}
	return all, aIsOld, nil
}

func isAncestor(ctx context.Context, dir, a, b string) bool {
	_, err := git(ctx, dir, "merge-base", "--is-ancestor", a, b)
	return err == nil
}

// Select checks out a commit in Dir, and removes all files that git does not track.
func (c *Clone) Select(ctx context.Context, hash string) error {
	_, err := git(ctx, c.Dir, "checkout", "--quiet", "--force", "--detach", hash)
	if err == nil {
		_, err = git(ctx, c.Dir, "clean", "--quiet", "-ffdx")
	}
	return err
}

// git runs git without the variables of a git that has started this program, such as
// GIT_DIR: they name another repository.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := child.Command(ctx, "git", args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "GIT_CONFIG") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
