package scan

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
)

// Tree reads the files of a mount namespace. Paths are resolved inside its root (openat2
// RESOLVE_IN_ROOT, Linux 5.6), so an absolute symlink ("/var/run") never leads to a
// directory of the host.
type Tree struct {
	fd     int
	owner  *Owner // nil: any user
	budget *Budget
}

// OpenTree opens the root of a mount namespace, such as /proc/1234/root.
func OpenTree(root string) (*Tree, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the root %s (is its process alive?): %w", root, err)
	}
	return &Tree{fd: fd}, nil
}

// Within returns the tree with the limits of a Budget. Closing t also closes the returned
// tree.
func (t *Tree) Within(b *Budget) *Tree { return &Tree{fd: t.fd, owner: t.owner, budget: b} }

// Close closes the tree.
func (t *Tree) Close() { _ = unix.Close(t.fd) }

// Open opens a file for reading. The error is fs.ErrNotExist if the file does not exist,
// and a CutError if the time of the tree's Budget is over.
func (t *Tree) Open(name string, flags uint64) (*os.File, error) {
	if err := t.budget.open(name); err != nil {
		return nil, err
	}
	if t.owner != nil {
		return t.openOwned(name, flags)
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := foreign.Openat2(t.fd, name, how)
	if err != nil {
		return nil, &fs.PathError{Op: "openat2", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// List reads a directory. A missing directory is an empty one. A directory of more than
// MaxListed is an error.
func (t *Tree) List(name string) ([]os.DirEntry, error) {
	f, err := t.Open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read-only
	entries, err := f.ReadDir(MaxListed + 1)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF):
		return nil, nil
	case len(entries) > MaxListed:
		return nil, fmt.Errorf("%s has more than %d entries", name, MaxListed)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Read returns the text of a small file, or "" if the file does not exist or cannot be
// read.
func (t *Tree) Read(name string) string {
	text, _ := t.read(name, 4096, unix.O_NOFOLLOW)
	return string(text)
}

// ReadFile returns the content of a regular file. A file of more than most bytes is an
// error, and so is a symlink.
func (t *Tree) ReadFile(name string, most int64) ([]byte, error) {
	return t.read(name, most, unix.O_NOFOLLOW)
}

// ReadLinked does the same as ReadFile, for a file that may be a symlink.
func (t *Tree) ReadLinked(name string, most int64) ([]byte, error) { return t.read(name, most, 0) }

// read returns the content of a file. With an error it returns the content that was read
// before.
func (t *Tree) read(name string, most int64, flags uint64) ([]byte, error) {
	h, err := t.Open(name, unix.O_PATH|flags)
	if err != nil {
		return nil, err
	}
	defer h.Close() //nolint:errcheck // of O_PATH
	f, err := foreign.Reopen(h, most)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read-only
	return io.ReadAll(f)
}

// maxGlobbed is the largest number of directories, and of files, that a pattern may
// match.
const maxGlobbed = 1000

// Glob returns the files that match an absolute pattern of path.Match, in the order of
// their names. A pattern without a wildcard is returned as it is. Glob skips folders that
// it cannot read. A pattern that matches more than maxGlobbed files is an error.
func (t *Tree) Glob(pattern string) ([]string, error) {
	matches := []string{"/"}
	for part := range strings.SplitSeq(strings.Trim(path.Clean(pattern), "/"), "/") {
		var next []string
		for _, dir := range matches {
			if !strings.ContainsAny(part, `*?[\`) {
				next = append(next, path.Join(dir, part))
				continue
			}
			entries, _ := t.List(dir)
			for _, e := range entries {
				if ok, _ := path.Match(part, e.Name()); ok {
					next = append(next, path.Join(dir, e.Name()))
				}
			}
			if len(next) > maxGlobbed {
				return nil, fmt.Errorf("%s matches more than %d files", pattern, maxGlobbed)
			}
		}
		slices.Sort(next)
		matches = next
	}
	return matches, nil
}

// Stat calls lstat(2).
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	f, err := t.Open(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read-only
	return f.Stat()
}
