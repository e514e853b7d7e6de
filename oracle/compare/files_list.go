package compare

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// ListedFile is a line of files.yaml.
type ListedFile struct {
	// Path is a pattern of path.Match: * does not match a slash. ROOT and STATE begin those
	// in containerd's directories.
	Path string `yaml:"path"`
	// Kind is that of File; "file" for a regular file.
	Kind string `yaml:"kind"`
	// Releases is a range of semantic versions: those that need it. Empty: all.
	Releases string `yaml:"releases"`
	// Because says for a person why it may be there.
	Because string `yaml:"because"`
}

// fileList is files.yaml: the only files that may be new after a case, or larger.
type fileList struct {
	MayAppear []ListedFile `yaml:"may-appear"`
	MayGrow   []ListedFile `yaml:"may-grow"`
}

//go:embed files.yaml
var fileListText []byte

// fileLists is read once. A bad file is found by the tests, and in a binary it ends the
// program at once.
var fileLists = mustListFiles()

func mustListFiles() fileList {
	l, err := parseFileList(fileListText)
	if err != nil {
		panic(fmt.Errorf("files.yaml: %w", err))
	}
	return l
}

func parseFileList(text []byte) (fileList, error) {
	var l fileList
	if err := yaml.UnmarshalWithOptions(text, &l, yaml.Strict()); err != nil {
		return l, err
	}
	for _, f := range slices.Concat(l.MayAppear, l.MayGrow) {
		if err := f.check(); err != nil {
			return l, err
		}
	}
	return l, nil
}

// check refuses what would let more through than one thing.
func (l ListedFile) check() error {
	if l.Path == "" || l.Because == "" {
		return errors.New("a file needs path, kind and because")
	}
	if _, err := path.Match(l.Path, ""); err != nil {
		return fmt.Errorf("path %q: %w", l.Path, err)
	}
	if !slices.Contains([]string{fact.APlainFile, fact.ADirectory, fact.ASocket, fact.AFIFO, fact.ASymlink, fact.ADevice},
		l.Kind) {
		return fmt.Errorf("path %q: no kind is %q", l.Path, l.Kind)
	}
	if _, err := semver.NewConstraint(cmp.Or(l.Releases, "*")); err != nil {
		return fmt.Errorf("path %q: releases %q: %w", l.Path, l.Releases, err)
	}
	words := strings.Split(l.Path, "/")
	for i, w := range words {
		if strings.HasPrefix(w, "*") && i < 2 {
			return fmt.Errorf("path %q: it is true of too much", l.Path)
		}
	}
	return nil
}

// matches reports whether a path, with its place's word, and a File's kind are meant.
func (l ListedFile) matches(name, kind string) bool {
	if kind == "" {
		kind = fact.APlainFile
	}
	ok, _ := path.Match(l.Path, name) // checked when it was read
	return ok && kind == l.Kind
}

// FilesThatMayAppear are the only files that may be new after a case.
func FilesThatMayAppear() []ListedFile { return slices.Clone(fileLists.MayAppear) }

// Lets reports whether it lets a file of an inventory pass.
func (l ListedFile) Lets(inv inventory.Inventory, f inventory.File) bool {
	return l.matches(inv.Places.Name(f.Path), f.Kind)
}

// NeededBy reports whether a release, "v2.4.2", leaves it.
func (l ListedFile) NeededBy(release string) bool {
	v, err := semver.NewVersion(release)
	if err != nil {
		return false
	}
	r, err := semver.NewConstraint(cmp.Or(l.Releases, "*"))
	return err == nil && r.Check(semver.New(v.Major(), v.Minor(), v.Patch(), "", ""))
}
