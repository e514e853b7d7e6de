package weave

import (
	_ "embed" // the folders
	"sync"

	"github.com/goccy/go-yaml"
)

// Package is a package of containerd whose statements are woven: a probe is compiled in
// before each statement. Its alias is the same for all releases, so that the name of a
// point does not change.
type Package struct {
	Alias string `yaml:"alias"` // the first part of a function's name in points: runtime.binary.Start
	// The statements belong to this process: containerd or shim. Some packages are linked
	// into both; the probe of the other process ignores them.
	Who    string `yaml:"who"`
	Folder string `yaml:"folder"` // within the module

	// Files are patterns (path.Match) of the files that are woven. Each must match.
	// Without patterns all files are woven.
	Files []string `yaml:"files"`
	// Leave are functions of these files that are not woven.
	Leave []string `yaml:"leave"`
	// Also are functions in other files that are woven. Each must be there.
	Also []string `yaml:"also"`
}

// Generation is a line of releases with the folders of its lifecycle code.
type Generation struct {
	Module   string    `yaml:"module"`
	Versions string    `yaml:"versions"` // the prefix of its versions
	Packages []Package `yaml:"packages"`
}

//go:embed folders.yaml
var folders []byte

// Generations returns the lines of releases that can be woven.
var Generations = sync.OnceValue(func() (all []Generation) {
	if err := yaml.UnmarshalWithOptions(folders, &all, yaml.Strict()); err != nil {
		panic(err) // the file is embedded in the program
	}
	return all
})
