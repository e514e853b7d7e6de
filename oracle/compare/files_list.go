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
	// Path is a pattern of path.Match, in which * does not match a slash. ROOT and STATE
	// stand for containerd's root and state directory.
	Path string `yaml:"path"`
	// Kind is the kind of the file, as in inventory.File, or "file" for a regular file.
	Kind string `yaml:"kind"`
	// Releases is the range of releases that leave the file. Empty: all.
	Releases string `yaml:"releases"`
	// Because is why the file may be there, for a person.
	Because string `yaml:"because"`
}

// fileList is files.yaml: the only files that may be new or larger after a case.
type fileList struct {
	MayAppear []ListedFile `yaml:"may-appear"`
	MayGrow   []ListedFile `yaml:"may-grow"`
}

//go:embed files.yaml
var fileListText []byte

// fileLists is parsed once, at the start. An invalid files.yaml fails every test.
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

// check rejects a line that allows too much.
func (l ListedFile) check() error {
	if l.Path == "" || l.Because == "" {
		return errors.New("a file needs path, kind and because")
	}
	if _, err := path.Match(l.Path, ""); err != nil {
		return fmt.Errorf("path %q: %w", l.Path, err)
	}
	if !slices.Contains([]string{fact.APlainFile, fact.ADirectory, fact.ASocket, fact.AFIFO, fact.ASymlink, fact.ADevice},
		l.Kind) {
		return fmt.Errorf("path %q: unknown kind %q", l.Path, l.Kind)
	}
	if _, err := semver.NewConstraint(cmp.Or(l.Releases, "*")); err != nil {
		return fmt.Errorf("path %q: releases %q: %w", l.Path, l.Releases, err)
	}
	words := strings.Split(l.Path, "/")
	for i, w := range words {
		if strings.HasPrefix(w, "*") && i < 2 {
			return fmt.Errorf("path %q matches too many files: begin with ROOT/ or STATE/ and a name", l.Path)
		}
	}
	return nil
}

// matches reports whether the line allows a file with a name, in which ROOT or STATE
// stands for containerd's directory, and a kind.
func (l ListedFile) matches(name, kind string) bool {
	if kind == "" {
		kind = fact.APlainFile
	}
	ok, _ := path.Match(l.Path, name) // check has checked the pattern
	return ok && kind == l.Kind
}

// FilesThatMayAppear returns the files that may be new after a case. All others are
// leaks.
func FilesThatMayAppear() []ListedFile { return slices.Clone(fileLists.MayAppear) }

// Lets reports whether the line allows a file of an inventory.
func (l ListedFile) Lets(inv inventory.Inventory, f inventory.File) bool {
	return l.matches(inv.Places.Name(f.Path), f.Kind)
}

// NeededBy reports whether a release, such as "v2.4.2", leaves the file.
func (l ListedFile) NeededBy(release string) bool {
	v, err := semver.NewVersion(release)
	if err != nil {
		return false
	}
	r, err := semver.NewConstraint(cmp.Or(l.Releases, "*"))
	return err == nil && r.Check(semver.New(v.Major(), v.Minor(), v.Patch(), "", ""))
}
