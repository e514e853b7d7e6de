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

// bugText is the text form of a bug.
type bugText struct {
	Bug     `yaml:",inline"`
	Cases   ast.Node `yaml:"cases,omitempty"`
	Sweep   *Excuse  `yaml:"sweep,omitempty"`
	Residue ast.Node `yaml:"residue,omitempty"`
}

// bugParser knows the places of a bug's parts in its file.
type bugParser struct {
	file string
	tree *ast.File
}

// ParseBug parses the text form of a bug. Its errors are of type *harness.InputError,
// joined; each names file, line and column.
func ParseBug(file string, text []byte) (Bug, error) {
	p := bugParser{file: file}
	var err error
	if p.tree, err = parser.ParseBytes(text, 0); err != nil {
		return Bug{}, harness.PlaceYAML(file, err)
	}
	if len(p.tree.Docs) != 1 || p.tree.Docs[0].Body == nil {
		return Bug{}, &harness.InputError{
			File: file, Err: fmt.Errorf("a file holds one bug, and this one %d documents", len(p.tree.Docs)),
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

// cases parses the cases at their places, so that their errors have their lines.
func (p bugParser) cases(b *Bug, list ast.Node) (errs []error) {
	if list == nil {
		return nil
	}
	all, ok := list.(*ast.SequenceNode)
	if !ok {
		return []error{p.at("cases", errors.New("cases are a list"))}
	}
	for i := range all.Values {
		at := fmt.Sprintf("cases[%d]", i)
		c, err := harness.ParseCaseAt(p.file, p.tree, "$."+at)
		if err == nil && len(c.Bad) > 0 {
			err = p.at(at+".bad", errors.New("remove it: left, may and releases hold for all cases of this bug"))
		}
		errs = append(errs, err)
		b.Cases = append(b.Cases, c)
	}
	return errs
}

// finish copies the bug's common parts to each case, and to a sweep's excuse.
func (b *Bug) finish() {
	for i := range b.Cases {
		c := &b.Cases[i]
		if b.Residue == nil && len(b.Left) > 0 {
			c.Bad = []harness.Bad{{Releases: b.Releases.Constraint(), By: b.Left, May: b.May, OneOf: b.OneOf, Issue: b.Name()}}
		}
		if len(c.Issues) == 0 {
			c.Issues = b.Issues()
		}
		if c.About == "" {
			c.About = b.Title
		}
	}
	if f := b.Sweep; f != nil {
		f.ID, f.Title, f.Releases = b.ID, b.Title, b.Releases
		if len(f.Match) == 0 {
			f.Match = b.Left
		}
		f.Case, _ = b.Case()
	}
}

// at adds a place of the file to an error; nil stays nil.
func (p bugParser) at(path string, err error) error {
	if err == nil {
		return nil
	}
	return harness.PlaceAt(p.file, p.tree, path, err)
}

// The limits of texts for people.
const (
	longestTitle = 70
	mostWords    = 60
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
			add(need.key, fmt.Errorf("a bug needs %s", need.key))
		}
	}
	if n := utf8.RuneCountInString(b.Title); n > longestTitle {
		add("title", fmt.Errorf("%d characters: at most %d fit on a line of the list", n, longestTitle))
	}
	for _, free := range []struct{ key, is string }{{"why", b.Why}, {"trigger", b.Trigger}, {"until", b.Until}} {
		if n := len(strings.Fields(free.is)); n > mostWords {
			add(free.key, fmt.Errorf("%d words: the limit is %d", n, mostWords))
		}
	}
	add("kind", oneOf("kind", b.Kind, kinds))
	add("severity", oneOf("severity", b.Severity, severities))
	add("releases", b.Releases.Check())
	if len(b.Verified.By) == 0 {
		add("verified", fmt.Errorf("expected evidence of these kinds: %v", ways))
	}
	for i, w := range b.Verified.By {
		add(fmt.Sprintf("verified.by[%d]", i), oneOf("way", w, ways))
	}
	errs = append(errs, p.shown(b)...)
	return append(errs, p.sweep(b)...)
}

// shown requires a case with its findings, or the failed attempts.
func (p bugParser) shown(b Bug) (errs []error) {
	add := func(path, text string) { errs = append(errs, p.at(path, errors.New(text))) }
	ran := slices.Contains(b.Verified.By, Ran)
	switch {
	case len(b.Cases) == 0 && ran && b.Residue == nil:
		add("verified", "ran needs a case: add it (cases), or name other evidence")
	case len(b.Cases) == 0 && b.Tried == "" && b.Residue == nil:
		add("id", "a bug without a case needs the failed attempts (tried)")
	case len(b.Cases) > 0 && b.Odds.Of == 0:
		add("cases[0]", "count how often the case shows the bug (shimquake run --count 20), and set odds: 20 of 20")
	case len(b.Cases) > 0 && len(b.Takes) > 0:
		add("takes", "its case has the conditions: remove this")
	case len(b.Cases) > 0 && len(b.Left) == 0 && b.Residue == nil:
		add("cases[0]", "the findings of its case are missing (left)")
	}
	if (b.Kind == Residue) != (b.Residue != nil) {
		add("kind", "a bug is of kind residue if it has a `residue`, which the oracle excuses, and only then")
	}
	if b.Residue != nil && (len(b.Left) > 0 || b.Sweep != nil) {
		add("residue", "a residue violates nothing: its own match has the leftovers, so remove left and sweep")
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

func oneOf[T ~string](what string, is T, known []T) error {
	if slices.Contains(known, is) {
		return nil
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	return &spelling.UnknownError{
		What: what, Name: string(is), Nearest: spelling.Nearest(string(is), names), Known: names,
	}
}

// Name returns the upstream issue for exactly this bug, "containerd#8981", or else the
// id.
func (b Bug) Name() string {
	for _, t := range b.Threads {
		if t.Word == "issue" {
			return t.Name
		}
	}
	return b.ID
}

// Issues returns the numbers of containerd's own issues for exactly this bug.
func (b Bug) Issues() []int { return b.numbers("issue") }

// Fixes returns the numbers of containerd's pull requests that fix it.
func (b Bug) Fixes() []int { return b.numbers("fix") }

// numbers returns the threads of containerd with a word.
func (b Bug) numbers(word string) (numbers []int) {
	for _, t := range b.Threads {
		var n int
		if _, err := fmt.Sscanf(t.Name, "containerd#%d", &n); err == nil && t.Word == word {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
