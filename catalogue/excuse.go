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

// Excuse is the findings that a sweep may excuse by a bug: only its matches, at these
// places, on the releases with the bug. A sweep reports an excuse that it no longer
// finds.
type Excuse struct {
	// ID, Title, Releases and Case belong to the bug.
	ID       string            `yaml:"-"`
	Title    string            `yaml:"-"`
	Releases affected.Releases `yaml:"-"`
	Case     harness.Case      `yaml:"-"`
	// Window describes the findings and their places. Also are more windows of the same
	// cause, each with its own places, paths, workloads and actions.
	Window `yaml:",inline"`
	Also   []Window `yaml:"also,omitempty"`
	// Cases is the largest number of cases in a whole default sweep, by release. It was
	// measured, with a margin for races. More cases are news.
	Cases map[string]int `yaml:"cases,omitempty"`
	// Cuts is that number for a whole sweep with `--every-workload --hits path`: no cut
	// of the default workloads can have more.
	Cuts map[string]int `yaml:"cuts,omitempty"`
	// Paused is that number for a whole sweep with `--actions pause`.
	Paused map[string]int `yaml:"paused,omitempty"`
	// Sometimes is set for a race: a sweep without it shows nothing.
	Sometimes bool `yaml:"sometimes,omitempty"`
	// Anywhere is set for a race that a busy machine may lose with any fault. A case at
	// another place that no replay reproduces counts as one of its Cases.
	Anywhere bool `yaml:"anywhere,omitempty"`
}

// Window is the place and the time of a known finding.
type Window struct {
	// Match explains all matching findings. Default: the matches of the first window, and
	// for that one the bug's Left.
	Match []finding.Match `yaml:"match,omitempty"`
	// Where are the places of the faults, as path.Match patterns. A place is a process
	// with a function or a method, or the name of a point.
	//
	//	containerd runtime.binary.*
	//	stmt:containerd:runtime.binary.Start:conn-*
	//
	// A place may be wide if a match has a fact about the time of the finding. Such facts
	// are containerd=down, shim=dead, create=cut-off and served-by=neighbour.
	Where []string `yaml:"where,omitempty"`
	// Paths, Workloads and Actions restrict it to paths of the client, to workloads and
	// to actions. An action is a word (error is a bare one, code a class, errno an errno)
	// or has the form of a plan: error(NotFound). Default: all.
	Paths     []string `yaml:"paths,omitempty,flow"`
	Workloads []string `yaml:"workloads,omitempty,flow"`
	Actions   []string `yaml:"actions,omitempty,flow"`
}

// Windows returns all windows of an excuse, each with its matches.
func (e Excuse) Windows() []Window {
	all := append([]Window{e.Window}, e.Also...)
	for i := range all {
		if len(all[i].Match) == 0 {
			all[i].Match = e.Match
		}
	}
	return all
}

// Says returns the number of facts in the window's best match, or -1 without a match.
func (w Window) Says(f finding.Finding) int {
	says := -1
	for _, m := range w.Match {
		if m.Like(f) {
			says = max(says, len(m.Facts.All()))
		}
	}
	return says
}

// keyError is the error of one key.
type keyError struct {
	key string
	err error
}

func (e Excuse) problems(b Bug) (all []keyError) {
	add := func(key string, err error) { all = append(all, keyError{key, err}) }
	if len(e.Match) == 0 && len(b.Left) == 0 {
		add("match", errors.New("the findings to excuse are missing: set match, or the bug's left"))
	}
	for n, w := range e.Windows() {
		in := ""
		if n > 0 {
			in = fmt.Sprintf("also[%d].", n-1)
		}
		if len(w.Where) == 0 {
			add(in+"where", errors.New("a window is needed: without one it would excuse leaks of other causes"))
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
		add("sometimes", errors.New("a bug that is not a race (sometimes) needs a case that shows it"))
	}
	if e.Anywhere && !e.Sometimes {
		add("anywhere", errors.New("only a race (sometimes) comes by chance"))
	}
	if len(b.Cases) > 0 && b.Cases[0].Name != b.ID {
		add("where", fmt.Errorf("its case is called %q: a sweep finds it by the bug's id, %q", b.Cases[0].Name, b.ID))
	}
	return all
}

// Applies reports whether a release is known to have the bug. An untested release has no
// excuse.
func (e Excuse) Applies(release string) bool { return e.Releases.Applies(release) }

// Most returns the largest number of cases in a default sweep of a release; 0 if that was
// not measured.
func (e Excuse) Most(release string) int { return of(e.Cases, release) }

// MostOfCuts is Most for a sweep with `--every-workload --hits path`, and for its cuts.
func (e Excuse) MostOfCuts(release string) int { return of(e.Cuts, release) }

// MostPaused is Most for a sweep with `--actions pause`.
func (e Excuse) MostPaused(release string) int { return of(e.Paused, release) }

// of returns the bound of a release; a release candidate counts as its release.
func of(bounds map[string]int, release string) int {
	v, err := semver.NewVersion(release)
	if err != nil {
		return 0
	}
	return bounds["v"+semver.New(v.Major(), v.Minor(), v.Patch(), "", "").String()]
}
