// Package foreign opens files that another program may have written or replaced.
// Examples are kept evidence, a journal, and the files of a node or of a world (a
// throw-away node).
//
// A [Dir] is a folder. Its methods follow no symbolic link at the end of a name, and no
// link on the way that leaves the folder. They open regular files with one name only,
// never wait for a FIFO or a device, and read no more than the caller allows. A path that
// the operator typed is opened by [OpenTyped].
package foreign

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Dir is a folder whose entries are not trusted. Names are relative to it.
type Dir struct {
	root *os.Root
	path string
}

// OpenDir opens a folder. Links in its own path are followed: the path is trusted, the
// entries of the folder are not.
func OpenDir(path string) (*Dir, error) {
	h, err := handleAt(path, unix.O_DIRECTORY) // os.OpenRoot would wait for a FIFO
	if err != nil {
		return nil, err
	}
	defer h.close()
	return h.dir()
}

// MakeDir makes a folder, with its parents, and opens it.
func MakeDir(path string, perm fs.FileMode) (*Dir, error) {
	if err := os.MkdirAll(path, perm); err != nil {
		return nil, err
	}
	return OpenDir(path)
}

// Name returns the path that the folder was opened by.
func (d *Dir) Name() string { return d.path }

// Path returns the path of an entry, for messages and for other programs. The middle of a
// very long path is left out, because each level of nested folders keeps its own path. No
// system call accepts such a path, with or without its middle.
func (d *Dir) Path(name string) string {
	path := filepath.Join(d.path, name)
	if len(path) > 2*unix.PathMax {
		path = path[:unix.PathMax] + "/.../" + filepath.Base(path)
	}
	return path
}

// Close closes the folder. Files that were opened in it stay open.
func (d *Dir) Close() error { return d.root.Close() }

// Sub opens a folder in the folder. A symbolic link is a [KindError].
func (d *Dir) Sub(name string) (*Dir, error) {
	h, err := d.handle(name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	return h.dir()
}

// List returns at most so many entries of a folder, sorted by name; "." is the folder
// itself. More entries are a [LimitError], a symbolic link is a [KindError].
func (d *Dir) List(name string, most int) ([]fs.DirEntry, error) {
	h, err := d.handle(name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	if !h.IsDir() {
		return nil, h.isNot("a directory")
	}
	f, err := h.open(unix.O_RDONLY | unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	all, err := f.ReadDir(most + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(all) > most:
		return nil, &LimitError{Name: h.path, Most: int64(most), Unit: Entries}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, nil
}

// maxLevels limits the folders in folders that Walk enters. A report has five.
const maxLevels = 100

// Walk calls visit with each entry below the folder that is no folder, and follows no
// link. More than most entries, or more than maxLevels of folders, are a [LimitError].
// Walk ends when the context ends.
func (d *Dir) Walk(ctx context.Context, most int, visit func(name string, e fs.DirEntry) error) error {
	left := most
	var walk func(in *Dir, path string, level int) error
	walk = func(in *Dir, path string, level int) error {
		if level > maxLevels {
			return &LimitError{Name: d.path, Most: maxLevels, Unit: Levels}
		}
		all, err := in.List(".", most)
		if err != nil {
			return err
		}
		if left -= len(all); left < 0 {
			return &LimitError{Name: d.path, Most: int64(most), Unit: Entries}
		}
		for _, e := range all {
			name := filepath.Join(path, e.Name())
			switch err = ctx.Err(); {
			case err != nil:
			case e.IsDir():
				var sub *Dir
				if sub, err = in.Sub(e.Name()); err == nil {
					err = errors.Join(walk(sub, name, level+1), sub.Close())
				}
			default:
				err = visit(name, e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return walk(d, "", 1)
}

// Describe returns lstat(2) of an entry: it follows no link.
func (d *Dir) Describe(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	return info, named("look at", d.Path(name), err)
}

// MkdirAll makes a folder in the folder, with its parents.
func (d *Dir) MkdirAll(name string, perm fs.FileMode) error {
	return named("make", d.Path(name), d.root.MkdirAll(name, perm))
}

// Rename renames an entry. An entry that has the new name is replaced, and not followed.
func (d *Dir) Rename(from, to string) error {
	if err := d.root.Rename(from, to); err != nil {
		return &os.LinkError{Op: "rename", Old: d.Path(from), New: d.Path(to), Err: errors.Unwrap(err)}
	}
	return nil
}

// Link makes a symbolic link in the folder, in place of the entry that has its name. Its
// target is not looked at.
func (d *Dir) Link(name, target string) error {
	temp := "." + name + "." + rand.Text()
	if err := d.root.Symlink(target, temp); err != nil {
		return &os.LinkError{Op: "symlink", Old: target, New: d.Path(name), Err: errors.Unwrap(err)}
	}
	err := d.Rename(temp, name)
	if err != nil {
		err = errors.Join(err, d.Remove(temp))
	}
	return err
}

// Remove removes an entry; a symbolic link itself, and not its target.
func (d *Dir) Remove(name string) error {
	return named("remove", d.Path(name), d.root.Remove(name))
}
