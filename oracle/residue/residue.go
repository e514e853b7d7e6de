// Package residue answers: which findings are known residues, the harmless leftovers of a
// release? The caller provides the known residues from the catalogue. The package has no
// I/O.
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

// The events of a case that residues depend on. [Circumstances.Happened], and a residue's
// keys `when`, `expect` and `each`, have these values.
const (
	// ShimKilled: a shim was SIGKILLed, or killed itself, at any time.
	ShimKilled = "shim-killed"
	// ShimKilledServing: a killed shim had created a task before, and so had served on
	// its socket.
	ShimKilledServing = "shim-killed-serving"
	// TaskDeleted: a client's Delete succeeded, so containerd asked the shim to exit.
	TaskDeleted = "task-deleted"
	// ContainerdDied: containerd ended, and was restarted.
	ContainerdDied = "containerd-died"
	// FaultInjected: a fault of the plan happened, or a misbehaviour of the fake shim.
	FaultInjected = "fault-injected"
)

// happenings lists all these events.
var happenings = []string{ShimKilled, ShimKilledServing, TaskDeleted, ContainerdDied, FaultInjected}

// Circumstances decide whether a known residue may, or must, appear.
type Circumstances struct {
	// Releases are the releases of containerd that ran, such as "v2.4.2". A text that is
	// not a version has no residues.
	Releases []string
	// Happened lists the events (ShimKilled, ...), each as often as it happened.
	Happened []string
}

// Known is a known residue: a finding that does not make a case violated. It is the key
// `residue` in a bug's file.
type Known struct {
	// ID and Releases are from the bug's file.
	ID       string            `yaml:"-"`
	Releases affected.Releases `yaml:"-"`
	// Issue is the URL of the upstream issue.
	Issue string        `yaml:"issue"`
	Class finding.Class `yaml:"class"`
	// Says is the condition in words, for the verdict.
	Says string `yaml:"says"`
	// When: at least one of these events must have happened, or the finding is not
	// excused.
	When []string `yaml:"when,flow"`
	// Expect: if one of these events happened and the residue is missing, the verdict has
	// a note.
	Expect []string `yaml:"expect,flow"`
	// Each: each of these events explains one such finding. If the residue is a missing
	// or repeated event, it explains one finding for each container.
	Each []string `yaml:"each,flow"`
	// Rate is the share of containers that may lose the event in a race, over many cases:
	// see package rate. One case cannot tell a race from an event that is never sent.
	Rate float64 `yaml:"rate"`
	// Match are facts that the finding must have, such as [socket=silent].
	Match fact.Facts `yaml:"match,flow"`
}

// Load reads the residues in a folder of bugs' files. It skips bugs that are not
// residues.
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
			continue // parsing is slow, and most bugs are not residues
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

// Read does the same as Parse, for a parsed file.
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
	if !r.Class.Kind().MayStay {
		return fmt.Errorf("a finding of class %q is never a residue: use one of %v", r.Class,
			finding.ClassesThat(func(k finding.Kind) bool { return k.MayStay }))
	}
	if r.Class == finding.ClassEvent && !knowableEvent(r.Match) {
		return fmt.Errorf(
			"the only event that may be missing is %s, only %s and %s may be late, and others may only be repeated unchanged: "+
				"match [%s], [%s] or [%s]",
			event.TopicDelete, event.TopicCreate, event.TopicStart,
			fact.Facts{fact.Event: fact.Missing, fact.Topic: event.TopicDelete},
			fact.Facts{fact.Event: fact.Late, fact.Topic: event.TopicStart},
			fact.Facts{fact.Event: fact.Repeated, fact.Repeat: fact.SameAgain},
		)
	}
	if len(r.When) == 0 {
		return errors.New("a residue needs `when`, so that it does not excuse a case in which nothing happened")
	}
	if len(r.Each) == 0 {
		return errors.New("a residue needs `each`, the events that explain one finding each, to limit their number")
	}
	if missing := r.Class == finding.ClassEvent && r.Match[fact.Event] == fact.Missing; missing != (r.Rate > 0) ||
		r.Rate >= 1 {
		return errors.New("a residue that is a missing event needs a `rate` below 1: remove `rate` from other residues")
	}
	for _, h := range slices.Concat(r.When, r.Expect, r.Each) {
		if !slices.Contains(happenings, h) {
			return fmt.Errorf("%q is not an event of a case: expected one of %v", h, happenings)
		}
	}
	return r.Releases.Check()
}

// knowableEvent reports whether a residue may have this match of events. A missing exit,
// or an exit after the delete, is never a residue, because it misleads clients.
func knowableEvent(match fact.Facts) bool {
	return slices.ContainsFunc([]fact.Facts{
		{
			fact.Event: fact.Missing,
			fact.Topic: event.TopicDelete,
		}, {fact.Event: fact.Late, fact.Topic: event.TopicCreate}, {fact.Event: fact.Late, fact.Topic: event.TopicStart},
		{fact.Event: fact.Repeated, fact.Repeat: fact.SameAgain},
	}, match.Has)
}

func (r Known) matches(f finding.Finding) bool {
	if (f.Invariant == finding.Event) != (f.Class == finding.ClassEvent) ||
		(f.Invariant != finding.Leak && f.Invariant != finding.Event) ||
		f.Class != r.Class ||
		!f.Class.Kind().MayStay {
		return false
	}
	return f.Facts.Has(r.Match)
}

// Mark returns the findings, with the field Known set for each finding that a known
// residue explains.
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
			mayAppear := c.ran(r.Releases.Applies) && anyOf(r.When, c.Happened)
			if mayAppear && r.matches(f) && marked[at] < count(c.Happened, r.Each) {
				marked[at]++
				out[i].Known, out[i].Because = r.ID, r.Says
				break
			}
		}
	}
	return out
}

// Absent returns notes about the known residues that should be among the marked findings
// and are not. A note does not make the case violated. It means that the catalogue, or
// the case, is outdated.
func Absent(known []Known, marked []finding.Finding, c Circumstances) []finding.Finding {
	var out []finding.Finding
	for _, r := range known {
		seen := slices.ContainsFunc(marked, func(f finding.Finding) bool { return f.Known == r.ID })
		if seen || !c.ran(r.Releases.Applies) || !anyOf(r.Expect, c.Happened) {
			continue
		}
		out = append(out, finding.Finding{Invariant: finding.Residue, Class: r.Class,
			Subject: finding.Subject{Name: strings.Join(c.Releases, ", then ")}, Because: r.Says,
			Facts: fact.Facts{fact.Residue: r.ID, fact.Source: r.Issue}})
	}
	return out
}

// ran reports whether one of the releases that ran fulfils a condition.
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
