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
)

// Tree reads the files of a mount namespace. Paths are resolved as inside its root
// (openat2 RESOLVE_IN_ROOT, Linux 5.6), so an absolute symlink there ("/var/run") leads
// to a directory there and never to the host's.
type Tree struct{ fd int }

// OpenTree opens the root of a mount namespace, such as /proc/1234/root.
func OpenTree(root string) (*Tree, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the root %s (is its process alive?): %w", root, err)
	}
	return &Tree{fd: fd}, nil
}

// Close closes it.
func (t *Tree) Close() { _ = unix.Close(t.fd) }

// Open opens name for reading; fs.ErrNotExist when it is not there.
func (t *Tree) Open(name string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(t.fd, name, &how)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) { // EAGAIN: a rename raced with the lookup
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "openat2", Path: name, Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// List reads a directory. A directory that is not there, or is gone meanwhile, is an
// empty one.
func (t *Tree) List(name string) ([]os.DirEntry, error) {
	f, err := t.Open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read-only
	entries, err := f.ReadDir(-1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Size is that of a file, 0 when it is not there or cannot be looked at.
func (t *Tree) Size(name string) int64 {
	f, err := t.Open(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // it was not even opened for reading
	st, err := f.Stat()
	if err != nil {
		return 0
	}
	return st.Size()
}

// Read returns the text of a small file, "" when it is not there or cannot be read.
func (t *Tree) Read(name string) string { return t.readAtMost(name, 4096, unix.O_NOFOLLOW) }

// ReadAll is Read for a file that may be larger, and a symlink: of more than a MiB it
// returns the begin.
func (t *Tree) ReadAll(name string) string { return t.readAtMost(name, 1<<20, 0) }

func (t *Tree) readAtMost(name string, most int64, flags uint64) string {
	f, err := t.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|flags)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // read-only
	text, _ := io.ReadAll(io.LimitReader(f, most))
	return string(text)
}

// Glob returns the files that an absolute pattern of path.Match names, in the order of
// their names; the pattern itself where it has no wildcard, be it there or not. What
// cannot be read is left out.
func (t *Tree) Glob(pattern string) []string {
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
		}
		slices.Sort(next)
		matches = next
	}
	return matches
}

// Stat is lstat(2); nil when the file is not there.
func (t *Tree) Stat(name string) fs.FileInfo {
	f, err := t.Open(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read-only
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return info
}
