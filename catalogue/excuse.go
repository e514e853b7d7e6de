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

// Excuse is what a sweep may excuse by a bug: no more than it matches, at these places,
// on the releases that have the bug. A sweep that no longer finds it says so.
type Excuse struct {
	// ID, Title, Releases and Case are the bug's.
	ID       string            `yaml:"-"`
	Title    string            `yaml:"-"`
	Releases affected.Releases `yaml:"-"`
	Case     harness.Case      `yaml:"-"`
	// Window says what and where. Also are more windows of the same cause, each with places,
	// paths, workloads and actions of its own.
	Window `yaml:",inline"`
	Also   []Window `yaml:"also,omitempty"`
	// Cases are how many of a whole default sweep show it at most, by release: measured,
	// with some head-room for what is a race. More than that are new.
	Cases map[string]int `yaml:"cases,omitempty"`
	// Cuts are how many of a whole sweep of `--every-workload --hits path` show it at most:
	// no cut of the default workloads can have more.
	Cuts map[string]int `yaml:"cuts,omitempty"`
	// Paused are how many of a whole sweep of `--actions pause` show it at most.
	Paused map[string]int `yaml:"paused,omitempty"`
	// Sometimes is set for a race: a sweep that does not find it says nothing.
	Sometimes bool `yaml:"sometimes,omitempty"`
	// Anywhere is set for a race that a busy machine loses by itself, whatever the fault: a
	// case elsewhere, of which not one replay shows it again, is one of its Cases.
	Anywhere bool `yaml:"anywhere,omitempty"`
}

// Window is where and when a known finding may appear.
type Window struct {
	// Match are the things that it leaves; each that is like one of these is explained by
	// it. Default: the first window's, and of that the bug's Left.
	Match []finding.Match `yaml:"match,omitempty"`
	// Where are the places of the faults: WHO PKG.FUNC, or WHO METHOD, or the name of a
	// point, in the form of path.Match: "containerd runtime.binary.*",
	// "stmt:containerd:runtime.binary.Start:conn-*". Where a match says by its facts when it
	// happened (containerd=down, shim=dead, create=cut-off, served-by=neighbour), a place
	// need not be narrow.
	Where []string `yaml:"where,omitempty"`
	// Paths, Workloads and Actions limit it to what the client was doing, to workloads and
	// to actions, by their words (error is a bare one, code a class, errno an errno) or as
	// they stand in a plan: error(NotFound). Default: all.
	Paths     []string `yaml:"paths,omitempty,flow"`
	Workloads []string `yaml:"workloads,omitempty,flow"`
	Actions   []string `yaml:"actions,omitempty,flow"`
}

// Windows are all of an excuse, each with its matches.
func (e Excuse) Windows() []Window {
	all := append([]Window{e.Window}, e.Also...)
	for i := range all {
		if len(all[i].Match) == 0 {
			all[i].Match = e.Match
		}
	}
	return all
}

// Says is how many facts of a finding the window names; -1 where it does not match it.
func (w Window) Says(f finding.Finding) int {
	says := -1
	for _, m := range w.Match {
		if m.Like(f) {
			says = max(says, len(m.Facts.All()))
		}
	}
	return says
}

// keyError is what is wrong with one key.
type keyError struct {
	key string
	err error
}

func (e Excuse) problems(b Bug) (all []keyError) {
	add := func(key string, err error) { all = append(all, keyError{key, err}) }
	if len(e.Match) == 0 && len(b.Left) == 0 {
		add("match", errors.New("what may be excused? match, or the bug's left"))
	}
	for n, w := range e.Windows() {
		in := ""
		if n > 0 {
			in = fmt.Sprintf("also[%d].", n-1)
		}
		if len(w.Where) == 0 {
			add(in+"where", errors.New("a window is needed: without one it would excuse what other causes leave"))
		}
		for i, where := range w.Where {
			if _, err := path.Match(where, ""); err != nil {
				add(fmt.Sprintf("%swhere[%d]", in, i), fmt.Errorf("%q: %w", where, err))
			}
		}
	}
	for key, bounds := range map[string]map[string]int{"cases": e.Cases, "cuts": e.Cuts, "paused": e.Paused} {
		for release, most := range bounds {
			if !b.Applies(release) || most < 1 {
				add(key, fmt.Errorf("%s: %d: of a release that has the bug, at least 1", release, most))
			}
		}
	}
	if len(b.Cases) == 0 && !e.Sometimes {
		add("sometimes", errors.New("what is no race (sometimes) needs a case that shows it"))
	}
	if e.Anywhere && !e.Sometimes {
		add("anywhere", errors.New("only a race (sometimes) comes by chance"))
	}
	if len(b.Cases) > 0 && b.Cases[0].Name != b.ID {
		add("where", fmt.Errorf("its case is called %q: a sweep finds it by the bug's id, %q", b.Cases[0].Name, b.ID))
	}
	return all
}

// Applies reports whether a release is known to have the bug. Where nobody has looked
// nothing is excused by it.
func (e Excuse) Applies(release string) bool { return e.Releases.Applies(release) }

// Most is how many cases of a default sweep of a release show it at most; 0 where that
// was not measured.
func (e Excuse) Most(release string) int { return of(e.Cases, release) }

// MostOfCuts is Most of a sweep of `--every-workload --hits path`, and of its cuts.
func (e Excuse) MostOfCuts(release string) int { return of(e.Cuts, release) }

// MostPaused is Most of a sweep of `--actions pause`.
func (e Excuse) MostPaused(release string) int { return of(e.Paused, release) }

// of is the bound of a release; a release candidate counts as its release.
func of(bounds map[string]int, release string) int {
	v, err := semver.NewVersion(release)
	if err != nil {
		return 0
	}
	return bounds["v"+semver.New(v.Major(), v.Minor(), v.Patch(), "", "").String()]
}
