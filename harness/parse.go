package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/oracle"
)

// The text form of a case. Fields stand in the order in which a person would tell them.
type caseText struct {
	Name       string       `yaml:"name" json:"name"`
	About      freeText     `yaml:"about,omitempty" json:"about,omitempty"`
	Issues     []int        `yaml:"issues,omitempty,flow" json:"issues,omitempty"`
	Containerd freeText     `yaml:"containerd,omitempty" json:"containerd,omitempty"`
	Workload   workloadText `yaml:"workload,omitempty" json:"workload,omitzero"`
	Plan       []faultText  `yaml:"plan,omitempty" json:"plan,omitempty"`
	Bad        []badText    `yaml:"bad,omitempty" json:"bad,omitempty"`
}

type workloadText struct {
	API         string          `yaml:"api,omitempty" json:"api,omitempty"`
	Containers  []containerText `yaml:"containers,omitempty" json:"containers,omitempty"`
	Grouped     bool            `yaml:"grouped,omitempty" json:"grouped,omitempty"`
	CallTimeout string          `yaml:"callTimeout,omitempty" json:"callTimeout,omitempty"`
	Deadline    string          `yaml:"deadline,omitempty" json:"deadline,omitempty"`
	Settle      string          `yaml:"settle,omitempty" json:"settle,omitempty"`
	Thorough    bool            `yaml:"thorough,omitempty" json:"thorough,omitempty"`
	Restart     bool            `yaml:"restart,omitempty" json:"restart,omitempty"`
	Deleters    int             `yaml:"deleters,omitempty" json:"deleters,omitempty"`
	Fakeshim    string          `yaml:"fakeshim,omitempty" json:"fakeshim,omitempty"`
}

type containerText struct {
	Exit       int    `yaml:"exit,omitempty" json:"exit,omitempty"`
	Signal     string `yaml:"signal,omitempty" json:"signal,omitempty"`
	HoldStdout bool   `yaml:"holdStdout,omitempty" json:"holdStdout,omitempty"`
}

type faultText struct {
	At    string   `yaml:"at" json:"at"`
	Do    freeText `yaml:"do" json:"do"`
	While []string `yaml:"while,omitempty,flow" json:"while,omitempty"`
}

type badText struct {
	Releases freeText       `yaml:"releases" json:"releases"`
	By       []oracle.Class `yaml:"by,flow" json:"by"`
	May      []oracle.Class `yaml:"may,omitempty,flow" json:"may,omitempty"`
	Issue    freeText       `yaml:"issue" json:"issue"`
}

// freeText is a text that a person chose. The YAML library writes some, such as "? x", in a form that it cannot read: those are quoted.
type freeText string

// MarshalYAML is for the YAML library.
func (t freeText) MarshalYAML() ([]byte, error) {
	plain, err := yaml.Marshal(string(t))
	if err != nil {
		return nil, err
	}
	var back map[string]string
	if err := yaml.Unmarshal(append([]byte("key: "), plain...), &back); err != nil || back["key"] != string(t) || strings.Contains(string(t), "\n") {
		return []byte(strconv.Quote(string(t))), nil
	}
	return plain, nil
}

// InputError is a case file that cannot be run, with the place where it is wrong.
type InputError struct {
	File         string
	Line, Column int // from 1; 0 where the whole file is meant
	Err          error
}

func (e *InputError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

func (e *InputError) Unwrap() error { return e.Err }

// ParseCase reads the text form of a case. Its errors, all that the file has, are of type *InputError, joined; each names
// file, line, column and, for a wrong name, the nearest right one.
func ParseCase(file string, text []byte) (Case, error) {
	p := caseParser{file: file, root: "$"}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Case{}, p.wrap(err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return Case{}, p.at("", fmt.Errorf("a file holds one case, found %d", len(tree.Docs)))
	}
	p.tree = tree
	return p.parse(tree.Docs[0].Body)
}

// ParseCaseAt reads the case that stands at a path ("$.case") of a file of another kind.
func ParseCaseAt(file string, tree *ast.File, path string) (Case, error) {
	p := caseParser{file: file, tree: tree, root: path}
	at, err := yaml.PathString(path)
	if err != nil {
		return Case{}, err
	}
	node, err := at.FilterFile(tree)
	if err != nil {
		return Case{}, p.wrap(err)
	}
	return p.parse(node)
}

func (p caseParser) parse(node ast.Node) (Case, error) {
	if err := p.keys(node, "", caseKeys); err != nil {
		return Case{}, err
	}
	var ct caseText
	if err := yaml.NodeToValue(node, &ct, yaml.Strict()); err != nil {
		return Case{}, p.wrap(err)
	}
	return p.build(ct)
}

// String is the text form of the case, which ParseCase reads.
func (c Case) String() string {
	text, err := yaml.Marshal(c.text())
	if err != nil { // strings, numbers and lists only
		panic(err)
	}
	return string(text)
}

// MarshalJSON is an object with the keys and values of the text form.
func (c Case) MarshalJSON() ([]byte, error) { return json.Marshal(c.text()) }

// UnmarshalJSON reads such an object.
func (c *Case) UnmarshalJSON(text []byte) error {
	var ct caseText
	if err := strict(text, &ct); err != nil {
		return err
	}
	var err error
	*c, err = caseParser{file: "case"}.build(ct)
	return err
}

func (c Case) text() caseText {
	w := c.Workload
	ct := caseText{Name: c.Name, About: freeText(c.About), Issues: c.Issues, Containerd: freeText(c.Containerd), Workload: workloadText{
		API: string(w.API), Grouped: w.Grouped, CallTimeout: span(w.CallTimeout), Deadline: span(w.Deadline), Settle: span(w.Settle), Thorough: w.Thorough, Fakeshim: w.Fakeshim,
		Restart: w.Restart, Deleters: w.Deleters,
	}}
	for _, b := range c.Bad {
		ct.Bad = append(ct.Bad, badText{freeText(b.Releases), b.By, b.May, freeText(b.Issue)})
	}
	for _, k := range w.Containers {
		ct.Workload.Containers = append(ct.Workload.Containers, containerText(k))
	}
	for _, f := range c.Plan {
		ft := faultText{At: f.At.String(), Do: freeText(f.Do.String())}
		for _, s := range f.While {
			ft.While = append(ft.While, s.String())
		}
		ct.Plan = append(ct.Plan, ft)
	}
	return ct
}

func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// caseParser knows where in a file a case stands.
type caseParser struct {
	file string
	tree *ast.File // nil: nothing has a place
	root string    // the YAML path of the case
}

func (p caseParser) build(ct caseText) (Case, error) {
	c := Case{Name: ct.Name, About: string(ct.About), Issues: ct.Issues, Containerd: string(ct.Containerd), Workload: Workload{
		API: API(ct.Workload.API), Grouped: ct.Workload.Grouped, Thorough: ct.Workload.Thorough, Fakeshim: ct.Workload.Fakeshim,
		Restart: ct.Workload.Restart, Deleters: ct.Workload.Deleters,
	}}
	for _, b := range ct.Bad {
		c.Bad = append(c.Bad, Bad{string(b.Releases), b.By, b.May, string(b.Issue)})
	}
	for _, k := range ct.Workload.Containers {
		c.Workload.Containers = append(c.Workload.Containers, Container(k))
	}
	errs := p.durations(ct.Workload, &c.Workload)
	for i, ft := range ct.Plan {
		f, err := p.fault(ft, fmt.Sprintf("plan[%d]", i))
		errs = append(errs, err...)
		c.Plan = append(c.Plan, f)
	}
	if len(errs) == 0 { // what could not be read would be found wrong once more
		for _, e := range c.problems() {
			errs = append(errs, p.at(e.path, firstLine(e.err)))
		}
	}
	return c, errors.Join(errs...)
}

// durations reads those of a workload.
func (p caseParser) durations(wt workloadText, w *Workload) (errs []error) {
	for _, d := range []struct {
		key, text string
		to        *time.Duration
	}{
		{"callTimeout", wt.CallTimeout, &w.CallTimeout}, {"deadline", wt.Deadline, &w.Deadline}, {"settle", wt.Settle, &w.Settle},
	} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil || v <= 0 {
			errs = append(errs, p.at("workload."+d.key, fmt.Errorf("%s %q: expected a duration such as 2s", d.key, d.text)))
			continue
		}
		*d.to = v
	}
	return errs
}

func (p caseParser) fault(ft faultText, path string) (f failpoints.Fault, errs []error) {
	var err error
	if f.At, err = failpoints.ParsePoint(ft.At); err != nil {
		errs = append(errs, p.at(path+".at", err))
	}
	if f.Do, err = term.Parse(string(ft.Do)); err != nil {
		errs = append(errs, p.at(path+".do", err))
	}
	for i, s := range ft.While {
		st, err := failpoints.ParseStep(s)
		if err != nil {
			errs = append(errs, p.at(fmt.Sprintf("%s.while[%d]", path, i), err))
		}
		f.While = append(f.While, st)
	}
	return f, errs
}

// at places an error at a path below the case; "" is the case itself. Of a key that is not there the nearest key above it
// has the place.
func (p caseParser) at(path string, err error) error {
	e := &InputError{File: p.file, Err: err}
	for p.tree != nil && path != "" {
		yp, perr := yaml.PathString(p.root + "." + path)
		if perr != nil {
			break
		}
		if node, nerr := yp.FilterFile(p.tree); nerr == nil && node != nil {
			e.Line, e.Column = begin(node).Line, begin(node).Column
			break
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return e
}

// begin is where a node begins: the library calls the colon the place of a mapping.
func begin(node ast.Node) *token.Position {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken().Position
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken().Position
	}
	return node.GetToken().Position
}

// wrap places an error of the YAML library, whose own text shows the lines around it.
func (p caseParser) wrap(err error) error {
	e := &InputError{File: p.file, Err: errors.New(firstLine(err).Error())}
	var ye yaml.Error
	if errors.As(err, &ye) {
		e.Err = errors.New(ye.GetMessage())
		if t := ye.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

func firstLine(err error) error {
	line, _, more := strings.Cut(err.Error(), "\n")
	if !more {
		return err
	}
	return errors.New(line)
}
