package catalogue

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/fixes"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Excuse describes the findings of a sweep that a known bug explains. The release must
// have the bug, the finding must match, and the fault must be at one of the places. A bug
// with a fix needs no places, because runs with the fix decide.
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
	// WithoutFault is set for a race that a busy machine can show in a run without a fault.
	WithoutFault bool `yaml:"withoutFault,omitempty"`
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

// Specificity returns how many facts the window's most specific match for the finding
// has, or -1 if no match fits.
func (w Window) Specificity(f finding.Finding) int {
	most := -1
	for _, m := range w.Match {
		if m.Matches(f) {
			most = max(most, len(m.Facts.All()))
		}
	}
	return most
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
		switch fixed := isFixed(b.ID); {
		case fixed && (len(e.Also) > 0 || len(w.Where)+len(w.Paths)+len(w.Workloads)+len(w.Actions)+len(w.After) > 0):
			add(in+"where", errors.New("a fix closes the bug, and runs with it decide: leave out its places"))
		case !fixed && len(w.Where) == 0:
			add(in+"where", errors.New("`where` is missing: without places the bug would explain findings with other causes"))
		}
		for i, where := range w.Where {
			if _, err := path.Match(where, ""); err != nil {
				add(fmt.Sprintf("%swhere[%d]", in, i), fmt.Errorf("%q: %w", where, err))
			}
		}
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

// ByChance returns the id of the race that explains all findings of a run without a
// fault, or "". The argument workload has the names of the run's workload and of similar
// ones.
func ByChance(known []Excuse, release string, workload []string, found []finding.Finding) string {
	for _, k := range known {
		ofWorkload := len(k.Workloads) == 0 ||
			slices.ContainsFunc(workload, func(name string) bool { return slices.Contains(k.Workloads, name) })
		if !k.WithoutFault || !k.Applies(release) || !ofWorkload {
			continue
		}
		direct := slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return k.Window.Specificity(f) < 0 })
		if len(direct) > 0 && len(direct)+len(compare.Companions(direct, found)) == len(found) {
			return k.ID
		}
	}
	return ""
}

// isFixed reports whether a fix closes the bug.
func isFixed(id string) bool {
	return Excuse{ID: id}.ClosedBy(fixes.All)
}

// ClosedBy reports whether the fix of this name closes the bug, or with [fixes.All] any
// fix.
func (e Excuse) ClosedBy(fix string) bool {
	all, err := fixes.Named(fix, "")
	return err == nil && slices.ContainsFunc(all, func(f fixes.Fix) bool { return slices.Contains(f.Closes, e.ID) })
}

// FixOf returns the name of the fix that closes the bug and applies to a containerd's
// version, or "".
func FixOf(id, version string) string {
	release, _, _ := strings.Cut(version, "+")
	for _, f := range fixes.List() {
		if slices.Contains(f.Closes, id) && slices.Contains(f.Releases, release) {
			return f.Name
		}
	}
	return ""
}
