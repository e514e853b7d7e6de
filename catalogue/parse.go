package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/residue"
	"github.com/shimquake/shimquake/spelling"
)

// bugText is a bug as its file has it.
type bugText struct {
	Bug     `yaml:",inline"`
	Cases   ast.Node `yaml:"cases,omitempty"`
	Sweep   *Excuse  `yaml:"sweep,omitempty"`
	Residue ast.Node `yaml:"residue,omitempty"`
}

// bugParser adds the file, line and column to the errors of a bug's file.
type bugParser struct {
	file string
	tree *ast.File
}

// ParseBug parses the file of a bug. It joins all errors. Each is a *harness.InputError
// that names file, line and column.
func ParseBug(file string, text []byte) (Bug, error) {
	p := bugParser{file: file}
	var err error
	if p.tree, err = parser.ParseBytes(text, 0); err != nil {
		return Bug{}, harness.PlaceYAML(file, err)
	}
	if len(p.tree.Docs) != 1 || p.tree.Docs[0].Body == nil {
		return Bug{}, &harness.InputError{
			File: file, Err: fmt.Errorf("a file has one bug, and this file has %d YAML documents", len(p.tree.Docs)),
		}
	}
	var t bugText
	if err := yaml.NodeToValue(p.tree.Docs[0].Body, &t, yaml.Strict()); err != nil {
		return Bug{}, harness.PlaceYAML(file, err)
	}
	b := t.Bug
	b.Sweep = t.Sweep
	errs := p.cases(&b, t.Cases)
	if t.Residue != nil {
		r, err := residue.Read(p.tree.Docs[0].Body)
		b.Residue = &r
		errs = append(errs, p.at("residue", err))
	}
	errs = append(errs, p.problems(b)...)
	if err := errors.Join(errs...); err != nil {
		return b, err
	}
	b.finish()
	return b, nil
}

// cases parses the cases. Their errors name the lines in the bug's file.
func (p bugParser) cases(b *Bug, list ast.Node) (errs []error) {
	if list == nil {
		return nil
	}
	all, ok := list.(*ast.SequenceNode)
	if !ok {
		return []error{p.at("cases", errors.New("expected a list of cases"))}
	}
	for i := range all.Values {
		at := fmt.Sprintf("cases[%d]", i)
		c, err := harness.ParseCaseAt(p.file, p.tree, "$."+at)
		if err == nil && len(c.Bugs) > 0 {
			err = p.at(at+".bugs", errors.New("remove this key: the case shows the bug of this file"))
		}
		errs = append(errs, err)
		b.Cases = append(b.Cases, c)
	}
	return errs
}

// finish copies what the bug says to its cases and its excuse.
func (b *Bug) finish() {
	for i := range b.Cases {
		c := &b.Cases[i]
		if b.Residue == nil && len(b.Left) > 0 {
			c.Bugs = []string{b.ID}
		}
		if len(c.Issues) == 0 {
			c.Issues = b.Issues()
		}
		if c.About == "" {
			c.About = b.Title
		}
	}
	if b.Sweep == nil && isFixed(b.ID) {
		b.Sweep = &Excuse{}
	}
	if f := b.Sweep; f != nil {
		f.ID, f.Title, f.Releases = b.ID, b.Title, b.Releases
		if len(f.Match) == 0 {
			f.Match = b.Left
		}
		f.Case, _ = b.Case()
	}
}

// at adds the place of a key in the file to an error. It returns nil for nil.
func (p bugParser) at(path string, err error) error {
	if err == nil {
		return nil
	}
	return harness.PlaceAt(p.file, p.tree, path, err)
}

// The limits of the texts on a bug's page.
const (
	longestTitle = 70
	maxWords     = 60
)

func (p bugParser) problems(b Bug) (errs []error) {
	add := func(path string, err error) {
		if err != nil {
			errs = append(errs, p.at(path, err))
		}
	}
	for _, need := range []struct{ key, is string }{
		{"id", b.ID}, {"title", b.Title}, {"trigger", b.Trigger}, {"why", b.Why},
	} {
		if need.is == "" {
			add(need.key, fmt.Errorf("%s is missing", need.key))
		}
	}
	if n := utf8.RuneCountInString(b.Title); n > longestTitle {
		add("title", fmt.Errorf("%d characters: the limit is %d, because a title must fit on a line", n, longestTitle))
	}
	for _, free := range []struct{ key, is string }{{"why", b.Why}, {"trigger", b.Trigger}, {"until", b.Until}} {
		if n := len(strings.Fields(free.is)); n > maxWords {
			add(free.key, fmt.Errorf("%d words: the limit is %d", n, maxWords))
		}
	}
	add("kind", spelling.OneOf("kind", b.Kind, Kinds))
	add("severity", spelling.OneOf("severity", b.Severity, Severities))
	add("releases", b.Releases.Check())
	if len(b.Verified.By) == 0 {
		add("verified", fmt.Errorf("by is empty: name the evidence, of the kinds %v", ways))
	}
	for i, w := range b.Verified.By {
		add(fmt.Sprintf("verified.by[%d]", i), spelling.OneOf("way", w, ways))
	}
	errs = append(errs, p.shown(b)...)
	return append(errs, p.sweep(b)...)
}

// shown returns the errors of a bug that lacks a case and its findings, or the failed
// attempts to write a case.
func (p bugParser) shown(b Bug) (errs []error) {
	add := func(path, text string) { errs = append(errs, p.at(path, errors.New(text))) }
	ran := slices.Contains(b.Verified.By, Ran)
	switch {
	case len(b.Cases) == 0 && ran && b.Residue == nil:
		add("verified", "the evidence `ran` needs a case: add one to `cases`, or name other evidence")
	case len(b.Cases) == 0 && b.Tried == "" && b.Residue == nil:
		add("id", "a bug without a case needs `tried`, which describes the attempts to reproduce it")
	case len(b.Cases) > 0 && b.Odds.Runs == 0:
		add("cases[0]", "`odds` is missing: count how many runs show the bug (shimquake run --count 20), as in 19 of 20")
	case len(b.Cases) > 0 && len(b.Takes) > 0:
		add("takes", "remove `takes`, because the case has the conditions")
	case len(b.Cases) > 0 && len(b.Left) == 0 && b.Residue == nil:
		add("cases[0]", "`left` is missing: list the findings of the case")
	}
	if (b.Kind == Residue) != (b.Residue != nil) {
		add("kind", "a bug of kind residue needs the key `residue`, and no other bug may have it")
	}
	if b.Residue != nil && (len(b.Left) > 0 || b.Sweep != nil) {
		add("residue", "remove `left` and `sweep`, because the `match` of `residue` has the findings")
	}
	return errs
}

func (p bugParser) sweep(b Bug) (errs []error) {
	f := b.Sweep
	if f == nil {
		return nil
	}
	for _, e := range f.problems(b) {
		errs = append(errs, p.at("sweep."+e.key, e.err))
	}
	return errs
}

// Name returns the upstream issue of this bug, "containerd#8981", or its id without one.
func (b Bug) Name() string {
	for _, t := range b.Threads {
		if t.Word == "issue" {
			return t.Name
		}
	}
	return b.ID
}

// Issues returns the numbers of containerd's issues about this bug.
func (b Bug) Issues() []int { return b.numbers("issue") }

// Fixes returns the numbers of containerd's pull requests that fix this bug.
func (b Bug) Fixes() []int { return b.numbers("fix") }

// numbers returns the numbers of containerd's threads with this word.
func (b Bug) numbers(word string) (numbers []int) {
	for _, t := range b.Threads {
		var n int
		if _, err := fmt.Sscanf(t.Name, "containerd#%d", &n); err == nil && t.Word == word {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
