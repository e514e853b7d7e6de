package weave

import (
	"embed"
	"io/fs"
)

//go:embed *.go ttrpc_probe.go.txt
var own embed.FS

// Source returns the source of this package as it runs in this program, by file, without
// tests. It identifies the weaver of a build: the checkout around a program may be newer
// than the program.
func Source() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(own, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !IsSource(name) && name != "ttrpc_probe.go.txt" {
			return err
		}
		files[name], err = own.ReadFile(name)
		return err
	})
	return files, err
}
