package catalogue

import (
	"errors"
	"fmt"
	"path"

	"github.com/Masterminds/semver/v3"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Excuse describes the findings of a sweep that a known bug explains. The release must
// have the bug, the finding must match, and the fault must be at one of the places. If
// a sweep has no such finding, it reports that the bug may be fixed.
type Excuse struct {
	// ID, Title, Releases and Case belong to the bug.
	ID       string            `yaml:"-"`
	Title    string            `yaml:"-"`
	Releases affected.Releases `yaml:"-"`
	Case     harness.Case      `yaml:"-"`
	// Window has the findings and the places of their faults. Also has further windows,
	// for the same bug.
	Window `yaml:",inline"`
	Also   []Window `yaml:"also,omitempty"`
	// Cases is the largest number of cases that the bug explains in a whole default sweep,
	// by release. It was measured, with a margin for races. If there are more, the sweep
	// fails.
	Cases map[string]int `yaml:"cases,omitempty"`
	// Sometimes is set for a race: a sweep without findings of it does not mean that the bug
	// is fixed.
	Sometimes bool `yaml:"sometimes,omitempty"`
	// Several is set if one failed call harms the containers of several shims.
	Several bool `yaml:"several,omitempty"`
	// Anywhere is set for a race that a busy machine can show with any fault. A case with a
	// fault at another place counts as one of its Cases if no replay reproduces it.
	Anywhere bool `yaml:"anywhere,omitempty"`
}

// Window describes known findings and the faults that lead to them.
type Window struct {
	// Match are the known findings. The default is Match of the first window. The default of
	// the first window is the bug's Left.
	Match []finding.Match `yaml:"match,omitempty"`
	// Where are the places of the faults, as path.Match patterns. A place is a process
	// with a function or a method, or the name of a point.
	//
	//	containerd runtime.binary.*
	//	stmt:containerd:runtime.binary.Start:conn-*
	//
	// A pattern may match many places if each match has a fact that narrows it down:
	// containerd=down, shim=dead, create=cut-off or served-by=neighbour.
	Where []string `yaml:"where,omitempty"`
	// Paths, Workloads and Actions restrict the window to parts of the client's script, to
	// workloads and to actions of the fault. The default is all. An action is a word or has
	// arguments, as in a plan: error(NotFound). The word `error` is an error without a code,
	// `code` any gRPC code, and `errno` any errno.
	Paths     []string `yaml:"paths,omitempty,flow"`
	Workloads []string `yaml:"workloads,omitempty,flow"`
	Actions   []string `yaml:"actions,omitempty,flow"`
	// After restricts the window to faults that follow another fault of their case with one
	// of these actions.
	After []string `yaml:"after,omitempty,flow"`
}

// Windows returns all windows of an excuse, with the default of Match filled in.
func (e Excuse) Windows() []Window {
	all := append([]Window{e.Window}, e.Also...)
	for i := range all {
		if len(all[i].Match) == 0 {
			all[i].Match = e.Match
		}
	}
	return all
}

// Says returns how many facts the window's most specific match for the finding has, or -1
// if no match fits.
func (w Window) Says(f finding.Finding) int {
	says := -1
	for _, m := range w.Match {
		if m.Matches(f) {
			says = max(says, len(m.Facts.All()))
		}
	}
	return says
}

// keyError is an error in one key of `sweep`.
type keyError struct {
	key string
	err error
}

func (e Excuse) problems(b Bug) (all []keyError) {
	add := func(key string, err error) { all = append(all, keyError{key, err}) }
	if len(e.Match) == 0 && len(b.Left) == 0 {
		add("match", errors.New("the known findings are missing: set `match`, or `left` of the bug"))
	}
	for n, w := range e.Windows() {
		in := ""
		if n > 0 {
			in = fmt.Sprintf("also[%d].", n-1)
		}
		if len(w.Where) == 0 {
			add(in+"where", errors.New("`where` is missing: without places the bug would explain findings with other causes"))
		}
		for i, where := range w.Where {
			if _, err := path.Match(where, ""); err != nil {
				add(fmt.Sprintf("%swhere[%d]", in, i), fmt.Errorf("%q: %w", where, err))
			}
		}
	}
	for release, most := range e.Cases {
		if !b.Applies(release) || most < 1 {
			add("cases", fmt.Errorf("%s: %d: the release must have the bug, and the number must be at least 1", release, most))
		}
	}
	if len(b.Cases) == 0 && !e.Sometimes {
		add("sometimes", errors.New("a bug without `sometimes` needs a case that shows it"))
	}
	if e.Anywhere && !e.Sometimes {
		add("anywhere", errors.New("`anywhere` needs `sometimes: true`"))
	}
	if len(b.Cases) > 0 && b.Cases[0].Name != b.ID {
		add("where", fmt.Errorf("its first case is %q: rename it to %q, the bug's id, by which a sweep finds it",
			b.Cases[0].Name, b.ID))
	}
	return all
}

// Applies reports whether a release is known to have the bug. On an untested release the
// bug explains no finding.
func (e Excuse) Applies(release string) bool {
	return Bug{ID: e.ID, Releases: e.Releases}.Applies(release)
}

// MaxCases returns the largest number of cases in a default sweep of a release, or 0 if
// it was not measured. A release candidate counts as its release.
func (e Excuse) MaxCases(release string) int {
	v, err := semver.NewVersion(release)
	if err != nil {
		return 0
	}
	return e.Cases["v"+semver.New(v.Major(), v.Minor(), v.Patch(), "", "").String()]
}
