package catalogue

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// Finding is what a sweep is known to find on some releases: data, a file each in
// findings/. It excuses nothing but what it matches, on the releases that it names; a
// sweep that no longer finds it says so.
type Finding struct {
	ID string `yaml:"id"`
	// About says in a sentence or two why it happens.
	About string `yaml:"about"`
	// Releases is a range of semantic versions (Masterminds/semver): ">= 2.0.0".
	Releases string `yaml:"releases"`
	// Issue of containerd, or 0 where none is known.
	Issue int `yaml:"issue,omitempty"`
	// Match are the things that it leaves; each that is like one of these is explained by
	// it.
	Match []oracle.Match `yaml:"match"`
	// Where limits it to faults at these places: WHO PKG.FUNC, or WHO METHOD, or the name of
	// a point, in the form of path.Match: "containerd runtime.binary.*",
	// "stmt:containerd:runtime.binary.Start:conn-*". Where a match says by its facts when it
	// happened (containerd=down, shim=dead, create=cut-off), a place need not be narrow.
	Where []string `yaml:"where,omitempty"`
	// Paths, Workloads and Actions limit it to what the client was doing, to workloads and
	// to actions, by their words (error is a bare one, code a class, errno an errno) or as
	// they stand in a plan: error(NotFound). Default: all.
	Paths     []string `yaml:"paths,omitempty,flow"`
	Workloads []string `yaml:"workloads,omitempty,flow"`
	Actions   []string `yaml:"actions,omitempty,flow"`
	// Cases are how many of a whole default sweep show it at most, by release:
	// measured, with some head-room for what is a race. More than that are new.
	Cases map[string]int `yaml:"cases,omitempty"`
	// Sometimes is set for a race: a sweep that does not find it says nothing.
	Sometimes bool `yaml:"sometimes,omitempty"`
	// Case shows it: `shimquake run ID`. A sweep that covers its point and action must find
	// it. Empty for a race.
	Case harness.Case `yaml:"-"`

	releases *semver.Constraints
}

//go:embed findings
var findingFiles embed.FS

var findings = mustFindings(findingFiles)

// Findings are all known findings, by id. A file that does not parse is found by the
// tests, and ends the program at once.
func Findings() []Finding { return slices.Clone(findings) }

func mustFindings(files fs.FS) []Finding {
	names, err := fs.Glob(files, "findings/*.yaml")
	if err != nil {
		panic(err)
	}
	out := make([]Finding, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		f, err := ParseFinding(name, text)
		if err == nil && f.ID != strings.TrimSuffix(path.Base(name), ".yaml") {
			err = fmt.Errorf("its id is %q", f.ID)
		}
		if err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
		out = append(out, f)
	}
	return out
}

// ParseFinding reads one file.
func ParseFinding(name string, text []byte) (Finding, error) {
	var f struct {
		Finding `yaml:",inline"`
		Case    yaml.MapSlice `yaml:"case"`
	}
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return f.Finding, fmt.Errorf("read finding: %w", err)
	}
	if f.ID == "" || f.About == "" || len(f.Match) == 0 {
		return f.Finding, errors.New("a known finding needs id, about and match")
	}
	if len(f.Where) == 0 {
		return f.Finding, errors.New(
			"a known finding needs a window (where): without one it would excuse what other causes leave",
		)
	}
	for _, w := range f.Where {
		if _, err := path.Match(w, ""); err != nil {
			return f.Finding, fmt.Errorf("where %q: %w", w, err)
		}
	}
	var err error
	if f.releases, err = semver.NewConstraint(f.Releases); err != nil {
		return f.Finding, fmt.Errorf("releases %q: %w", f.Releases, err)
	}
	for release, most := range f.Cases {
		if !f.Applies(release) || most < 1 {
			return f.Finding, fmt.Errorf("cases: %s: %d: of a release that it is known of, at least 1", release, most)
		}
	}
	if len(f.Case) == 0 {
		if !f.Sometimes {
			return f.Finding, errors.New("a known finding that is no race (sometimes) needs a case that shows it")
		}
		return f.Finding, nil
	}
	tree, err := parser.ParseBytes(text, 0)
	if err == nil {
		f.Finding.Case, err = harness.ParseCaseAt(name, tree, "$.case")
	}
	if err == nil && f.Finding.Case.Name != f.ID {
		err = fmt.Errorf("its case is called %q: it must be called as the finding is", f.Finding.Case.Name)
	}
	return f.Finding, err
}

// Applies reports whether the finding is known of a release. A pre-release or a commit
// counts as its release.
func (f Finding) Applies(release string) bool {
	v, err := plainVersion(release)
	return err == nil && f.releases.Check(v)
}

// Most is how many cases of a default sweep of a release show it at most; 0 where that
// was not measured.
func (f Finding) Most(release string) int {
	v, err := plainVersion(release)
	if err != nil {
		return 0
	}
	return f.Cases["v"+v.String()]
}

// plainVersion is a release without what a pre-release or a commit adds to it.
func plainVersion(release string) (*semver.Version, error) {
	v, err := semver.NewVersion(release)
	if err != nil {
		return nil, err
	}
	return semver.New(v.Major(), v.Minor(), v.Patch(), "", ""), nil
}
