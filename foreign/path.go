package foreign

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ReadFile is [Dir.Read] by a path. The folder is trusted, because the operator named it,
// and the file is not.
func ReadFile(path string, most int64) ([]byte, error) {
	return in(path, func(d *Dir, name string) ([]byte, error) { return d.Read(name, most) })
}

// Open is [Dir.Open] by a path whose folder is trusted.
func Open(path string, most int64) (*File, error) {
	return in(path, func(d *Dir, name string) (*File, error) { return d.Open(name, most) })
}

// OpenFile is [Dir.OpenFile] by a path whose folder is trusted.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return in(path, func(d *Dir, name string) (*os.File, error) { return d.OpenFile(name, flag, perm) })
}

// WriteFile is [Dir.Write] by a path whose folder is trusted.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return Replace(path, perm, writing(data))
}

// Replace is [Dir.Replace] by a path whose folder is trusted.
func Replace(path string, perm fs.FileMode, write func(io.Writer) error) error {
	_, err := in(path, func(d *Dir, name string) (any, error) { return nil, d.Replace(name, perm, write) })
	return err
}

// in calls do with the folder of a path and the name in it.
func in[T any](path string, do func(d *Dir, name string) (T, error)) (result T, err error) {
	d, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return result, err
	}
	defer d.Close() //nolint:errcheck // nothing is written by it
	return do(d, filepath.Base(path))
}
