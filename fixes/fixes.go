// Package fixes has patches of containerd's source, one for each root cause of known
// bugs. fixes.yaml has a row of data for each patch.
package fixes

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/spelling"
)

// Fix is a patch in git's format, as upstream would merge it.
type Fix struct {
	// Name is the name of the patch's file without ".patch". `v2.4.2+NAME` names a
	// containerd with the patch.
	Name string `yaml:"name"`
	// Closes has the ids of the bugs that a containerd with the patch no longer has.
	Closes []string `yaml:"closes"`
	// Releases are the releases to which the patch applies.
	Releases []string `yaml:"releases"`
}

// All is the name that stands for all fixes that apply to a release, in their order.
const All = "fixes"

//go:embed fixes.yaml *.patch
var files embed.FS

// List returns all fixes, in the order in which they apply together.
var List = sync.OnceValue(func() (all []Fix) {
	text, err := files.ReadFile("fixes.yaml")
	if err == nil {
		err = yaml.UnmarshalWithOptions(text, &all, yaml.Strict())
	}
	if err != nil {
		panic(fmt.Sprintf("fixes.yaml: %v", err)) // it is embedded, and a test reads it
	}
	return all
})

// Named returns the fixes that a name stands for on a release: one, or with [All] each
// that applies to it. The release is "" for a checkout, to which each may apply. The
// error is a *spelling.UnknownError.
func Named(name, release string) ([]Fix, error) {
	if name == All {
		return slices.DeleteFunc(slices.Clone(List()), func(f Fix) bool {
			return release != "" && !slices.Contains(f.Releases, release)
		}), nil
	}
	names := []string{All}
	for _, f := range List() {
		if f.Name == name {
			return []Fix{f}, nil
		}
		names = append(names, f.Name)
	}
	return nil, spelling.Unknown("fix", name, names)
}

// Patch returns the text of the patch.
func (f Fix) Patch() ([]byte, error) { return files.ReadFile(f.Name + ".patch") }

// Closed returns the ids of the bugs that the fixes in a containerd's version close. The
// version has the names of the fixes after a plus sign: v2.4.2+one.other.
func Closed(version string) (bugs []string) {
	release, names, _ := strings.Cut(version, "+")
	for name := range strings.SplitSeq(names, ".") {
		all, err := Named(name, release)
		if err != nil {
			continue // a patch of the user's, or a build of a distribution
		}
		for _, f := range all {
			bugs = append(bugs, f.Closes...)
		}
	}
	return bugs
}
