package weave

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// UnreadFolders are the folders in the root of a checkout that no build reads. vendor
// is one of them: builds here use the module cache.
var UnreadFolders = map[string]bool{".git": true, "vendor": true, "bin": true}

// copyTree copies a module's folder. Files of the module cache are read-only; the copies
// are not.
func copyTree(source, dest string) error {
	return copyFiles(source, dest, func(string) bool { return true })
}

// copySource copies the files of a package, and of the packages beneath it, that a build
// reads.
func copySource(source, dest string) error {
	return copyFiles(source, dest, IsSource)
}

// IsSource reports whether a build of a Go package reads the file; tests are left out.
func IsSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

func copyFiles(source, dest string, wanted func(name string) bool) error {
	return filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dest, rel)
		switch {
		case d.IsDir() && UnreadFolders[rel]:
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular() || !wanted(d.Name()):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
}
