package weave

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.go *.txt *.yaml
var own embed.FS

// Source returns the source of this package as it runs in this program, by file, without
// tests. It identifies the weaver of a build: the checkout around a program may be newer
// than the program.
func Source() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(own, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files[name], err = own.ReadFile(name)
		return err
	})
	return files, err
}
