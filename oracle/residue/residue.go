// Package residue answers: which findings are known of a release, and violate nothing?
// The caller provides the known residues, from the catalogue. The package has no I/O.
package residue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// The possible events of a case, for [Circumstances.Happened] and a residue's `when` and
// `expect`.
const (
	// ShimKilled: a shim was SIGKILLed, or killed itself, at any time.
	ShimKilled = "shim-killed"
	// ShimKilledServing: it had created a task before, so it did serve on its socket.
	ShimKilledServing = "shim-killed-serving"
	// TaskDeleted: a client's Delete succeeded, so the shim was asked to exit.
	TaskDeleted = "task-deleted"
	// ContainerdDied: containerd ended, and was restarted.
	ContainerdDied = "containerd-died"
	// FaultInjected: a fault of the plan happened, or a misbehaviour of the fake shim.
	FaultInjected = "fault-injected"
)

// happenings are all of them.
var happenings = []string{ShimKilled, ShimKilledServing, TaskDeleted, ContainerdDied, FaultInjected}

// Circumstances decide whether a known residue may, or must, appear.
type Circumstances struct {
	// Releases are the releases of containerd that ran, "v2.4.2". Each has its residues. A
	// text that is no version has none.
	Releases []string
	// Happened lists ShimKilled and the like, each as often as it happened.
	Happened []string
}

// Known is a finding that releases are known to leave, and that violates nothing: the key
// `residue` of a bug's file.
type Known struct {
	// ID and Releases are the bug's.
	ID       string            `yaml:"-"`
	Releases affected.Releases `yaml:"-"`
	// Issue is the URL of the upstream issue.
	Issue string        `yaml:"issue"`
	Class finding.Class `yaml:"class"`
	// Says is the condition in words, for the verdict.
	Says string `yaml:"says"`
	// When: one of these must have happened, or the residue is no excuse.
	When []string `yaml:"when,flow"`
	// Expect: when one of these has happened the residue must appear; otherwise the
	// verdict has a note.
	Expect []string `yaml:"expect,flow"`
	// Each: each of these explains one residue, and no more. Of events it explains one
	// for each container.
	Each []string `yaml:"each,flow"`
	// Rate is the share of the containers that may show a race, over many cases: see
	// package rate. One case alone cannot distinguish a race from an action that never
	// happens.
	Rate float64 `yaml:"rate"`
	// Match must be among the finding's facts: [socket=silent].
	Match fact.Facts `yaml:"match,flow"`
}

// mayBeKnown are the classes that a residue can have. A leaked process, mount or bundle,
// and a wrong exit status, are never known: such a release is simply bad. A row names the
// allowed class, so a new class is not excused by mistake. Events can only be known in
// three ways. A TaskDelete is missing whose exit status was reported by then, an event is
// repeated unchanged, or a create or start came late.
var mayBeKnown = []finding.Class{
	finding.ClassSocket, finding.ClassCRIDir, finding.ClassCgroup, finding.ClassSnapshot, finding.ClassLease,
	finding.ClassFIFO, finding.ClassEvent,
}

// Load reads the residues in a folder of bugs' files; it skips the other bugs.
func Load(files fs.FS) ([]Known, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var out []Known
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text, []byte("\nresidue:")) {
			continue // most bugs are no residue, and need not be parsed
		}
		r, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Parse parses and checks the residue in a bug's file. The other keys of the file belong
// to the catalogue.
func Parse(text []byte) (Known, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Known{}, fmt.Errorf("read residue: %w", err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return Known{}, fmt.Errorf("read residue: a file holds one bug, and this one %d documents", len(tree.Docs))
	}
	return Read(tree.Docs[0].Body)
}

// Read is Parse for a parsed file.
func Read(file ast.Node) (Known, error) {
	var bug struct {
		ID       string            `yaml:"id"`
		Releases affected.Releases `yaml:"releases"`
		Residue  ast.Node          `yaml:"residue"`
	}
	if err := yaml.NodeToValue(file, &bug); err != nil {
		return Known{}, fmt.Errorf("read residue: %w", err)
	}
	var r Known
	if bug.Residue != nil {
		if err := yaml.NodeToValue(bug.Residue, &r, yaml.Strict()); err != nil {
			return r, fmt.Errorf("read residue: %w", err)
		}
	}
	r.ID, r.Releases = bug.ID, bug.Releases
	return r, r.check()
}

func (r Known) check() error {
	if r.ID == "" || r.Issue == "" || r.Says == "" {
		return errors.New("a residue needs id, issue and says")
	}
	if !slices.Contains(mayBeKnown, r.Class) {
		return fmt.Errorf("class %q can never be known, only one of %v", r.Class, mayBeKnown)
	}
	if r.Class == finding.ClassEvent && !knowableEvent(r.Match) {
		return fmt.Errorf(
			"the only event that may be missing is %s, only %s and %s may be late, and others may only say the same again: "+
				"match [%s], [%s] or [%s]",
			event.TopicDelete, event.TopicCreate, event.TopicStart,
			fact.Facts{fact.Event: fact.Missing, fact.Topic: event.TopicDelete},
			fact.Facts{fact.Event: fact.Late, fact.Topic: event.TopicStart},
			fact.Facts{fact.Event: fact.Repeated, fact.Repeat: fact.SameAgain},
		)
	}
	if len(r.When) == 0 {
		return errors.New("a residue needs `when`: it must not excuse a plain case")
	}
	if len(r.Each) == 0 {
		return errors.New("a residue needs `each`: the events that leave one of them, or their number is unbounded")
	}
	if missing := r.Class == finding.ClassEvent && r.Match[fact.Event] == fact.Missing; missing != (r.Rate > 0) ||
		r.Rate >= 1 {
		return errors.New("a residue that is a missing event needs a `rate` below 1, and no other has one")
	}
	for _, h := range slices.Concat(r.When, r.Expect, r.Each) {
		if !slices.Contains(happenings, h) {
			return fmt.Errorf("unknown event of a case %q, expected one of %v", h, happenings)
		}
	}
	return r.Releases.Check()
}

// knowableEvent reports whether a residue may match such findings about events. A missing
// exit, or an exit after the delete, misleads clients.
func knowableEvent(match fact.Facts) bool {
	return slices.ContainsFunc([]fact.Facts{
		{
			fact.Event: fact.Missing,
			fact.Topic: event.TopicDelete,
		}, {fact.Event: fact.Late, fact.Topic: event.TopicCreate}, {fact.Event: fact.Late, fact.Topic: event.TopicStart},
		{fact.Event: fact.Repeated, fact.Repeat: fact.SameAgain},
	}, match.Has)
}

// Applies reports whether the residue is known of the release.
func (r Known) Applies(release string) bool { return r.Releases.Applies(release) }

func (r Known) matches(f finding.Finding) bool {
	if (f.Invariant == finding.Event) != (f.Class == finding.ClassEvent) ||
		(f.Invariant != finding.Leak && f.Invariant != finding.Event) ||
		f.Class != r.Class ||
		!slices.Contains(mayBeKnown, f.Class) {
		return false
	}
	return f.Facts.Has(r.Match)
}

// Mark returns the findings with Known set if a known residue explains one.
func Mark(known []Known, all []finding.Finding, c Circumstances) []finding.Finding {
	out := slices.Clone(all)
	type place struct{ residue, id string }
	marked := map[place]int{}
	for i, f := range out {
		for _, r := range known {
			at := place{residue: r.ID}
			if f.Class == finding.ClassEvent {
				at.id = f.Subject.ID
			}
			if r.matches(f) && c.ran(r.Applies) && anyOf(r.When, c.Happened) && marked[at] < count(c.Happened, r.Each) {
				marked[at]++
				out[i].Known, out[i].Because = r.ID, r.Says
				break
			}
		}
	}
	return out
}

// Absent returns notes about the known residues that should be among the marked findings
// and are not. A note violates nothing: it says that the list, or the case, is outdated.
func Absent(known []Known, marked []finding.Finding, c Circumstances) []finding.Finding {
	var out []finding.Finding
	for _, r := range known {
		seen := slices.ContainsFunc(marked, func(f finding.Finding) bool { return f.Known == r.ID })
		if seen || !c.ran(r.Applies) || !anyOf(r.Expect, c.Happened) {
			continue
		}
		out = append(out, finding.Finding{Invariant: finding.Residue, Class: r.Class,
			Subject: finding.Subject{Name: strings.Join(c.Releases, ", then ")}, Because: r.Says,
			Facts: fact.Facts{fact.Residue: r.ID, fact.Source: r.Issue}})
	}
	return out
}

// ran reports whether a release ran that is such.
func (c Circumstances) ran(is func(release string) bool) bool {
	return slices.ContainsFunc(c.Releases, is)
}

func count(happened, what []string) int {
	n := 0
	for _, h := range happened {
		if slices.Contains(what, h) {
			n++
		}
	}
	return n
}

func anyOf(list, happened []string) bool {
	return slices.ContainsFunc(list, func(h string) bool { return slices.Contains(happened, h) })
}
