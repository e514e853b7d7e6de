package weave

import (
	"embed"
	"io/fs"
)

//go:embed *.go ttrpc_probe.go.txt
var own embed.FS

// Source is the source of this package as it runs in this program, by file, tests left
// out. It says what a woven build was made by: the checkout that a program finds itself
// in may be newer than the program.
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
