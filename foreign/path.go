package foreign

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ReadFile is [Dir.Read] by a path. The folder is trusted, because the operator named it,
// and the file is not.
func ReadFile(path string, most int64) (text []byte, err error) {
	err = in(path, func(d *Dir, name string) (err error) {
		text, err = d.Read(name, most)
		return err
	})
	return text, err
}

// Open is [Dir.Open] by a path whose folder is trusted.
func Open(path string, most int64) (f *File, err error) {
	err = in(path, func(d *Dir, name string) (err error) {
		f, err = d.Open(name, most)
		return err
	})
	return f, err
}

// OpenFile is [Dir.OpenFile] by a path whose folder is trusted.
func OpenFile(path string, flag int, perm fs.FileMode) (f *os.File, err error) {
	err = in(path, func(d *Dir, name string) (err error) {
		f, err = d.OpenFile(name, flag, perm)
		return err
	})
	return f, err
}

// WriteFile is [Dir.Write] by a path whose folder is trusted.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return in(path, func(d *Dir, name string) error { return d.Write(name, data, perm) })
}

// Replace is [Dir.Replace] by a path whose folder is trusted.
func Replace(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return in(path, func(d *Dir, name string) error { return d.Replace(name, perm, write) })
}

// in calls do with the folder of a path and the name in it.
func in(path string, do func(d *Dir, name string) error) error {
	d, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing is written by it
	return do(d, filepath.Base(path))
}
