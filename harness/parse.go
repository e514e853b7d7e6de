package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/quote"
)

// caseText is the text form of a case. String writes the keys in the order of the fields.
type caseText struct {
	Name       string      `yaml:"name"`
	About      freeText    `yaml:"about,omitempty"`
	Issues     []int       `yaml:"issues,omitempty,flow"`
	Containerd freeText    `yaml:"containerd,omitempty"`
	Workload   Workload    `yaml:"workload,omitempty"`
	Plan       []faultText `yaml:"plan,omitempty"`
	Bugs       []string    `yaml:"bugs,omitempty,flow"`
}

type faultText struct {
	At        string   `yaml:"at"`
	Do        freeText `yaml:"do"`
	Meanwhile []string `yaml:"meanwhile,omitempty,flow"`
}

// freeText is a text that a person chose. MarshalYAML quotes it if the YAML library could
// not read back what it writes, as for "? x".
type freeText string

// MarshalYAML returns the text for the YAML library.
func (t freeText) MarshalYAML() ([]byte, error) {
	plain, err := yaml.Marshal(string(t))
	if err != nil {
		return nil, err
	}
	var back map[string]string
	if err := yaml.Unmarshal(append([]byte("key: "), plain...), &back); err != nil || back["key"] != string(t) ||
		strings.Contains(string(t), "\n") {
		return []byte(strconv.Quote(string(t))), nil
	}
	return plain, nil
}

// InputError is an error in a file of the user, with its place.
type InputError struct {
	File         string
	Line, Column int // from 1; 0 for the whole file
	Err          error
}

func (e *InputError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", quote.Line(e.File), e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", quote.Line(e.File), e.Line, e.Column, e.Err)
}

func (e *InputError) Unwrap() error { return e.Err }

// ParseCase reads the text form of a case. It returns all errors of the file, joined,
// each of type *InputError. For an unknown name the error suggests the nearest known
// name.
func ParseCase(file string, text []byte) (Case, error) {
	p := caseParser{file: file, root: "$"}
	tree, err := p.parseYAML(text)
	if err != nil {
		return Case{}, err
	}
	if len(tree.Docs) == 0 || len(tree.Docs) == 1 && tree.Docs[0].Body == nil {
		return Case{}, p.at("", errors.New("the file is empty: it needs a case, with the keys name, workload and plan"))
	}
	if len(tree.Docs) > 1 {
		return Case{}, p.at("", fmt.Errorf("a file must have exactly one case, but this one has %d", len(tree.Docs)))
	}
	p.tree = tree
	return p.parse(tree.Docs[0].Body)
}

// ParseCaseAt reads the case at a YAML path, such as "$.case", in another kind of file.
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
	errs := p.keys(node, "")
	if len(errs) >= maxKeyErrors {
		errs = append(errs[:maxKeyErrors],
			p.atNode(node, fmt.Errorf("there are more errors: only the first %d are reported", maxKeyErrors)))
	}
	if slices.ContainsFunc(errs, isKeyError) {
		return Case{}, errors.Join(errs...)
	}
	var ct caseText
	if err := yaml.NodeToValue(node, &ct, yaml.Strict(), anyDuration); err != nil {
		return Case{}, errors.Join(append(errs, p.wrap(err))...)
	}
	if long := p.checkLists(ct); len(long) > 0 {
		return Case{}, errors.Join(append(errs, long...)...)
	}
	return p.build(ct, errs)
}

// String returns the text form of the case. ParseCase reads it.
func (c Case) String() string {
	text, err := yaml.Marshal(c.text())
	if err != nil { // strings, numbers and lists only
		panic(err)
	}
	return string(text)
}

// MarshalJSON returns an object with the keys and values of the text form.
func (c Case) MarshalJSON() ([]byte, error) { return yaml.YAMLToJSON([]byte(c.String())) }

// UnmarshalJSON reads what MarshalJSON wrote. It uses ParseCase, because JSON is also
// YAML.
func (c *Case) UnmarshalJSON(text []byte) (err error) {
	*c, err = ParseCase("case", text)
	return err
}

// MarshalJSON returns an object with those keys of the text form that have a value.
func (c Container) MarshalJSON() ([]byte, error) {
	values, v := map[string]any{}, reflect.ValueOf(c)
	for i, f := range reflect.VisibleFields(v.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); !v.Field(i).IsZero() {
			values[name] = v.Field(i).Interface()
		}
	}
	return json.Marshal(values)
}

func (c Case) text() caseText {
	ct := caseText{
		Name:       c.Name,
		About:      freeText(c.About),
		Issues:     c.Issues,
		Containerd: freeText(c.Containerd),
		Workload:   c.Workload,
		Bugs:       c.Bugs,
	}
	for _, f := range c.Plan {
		ft := faultText{At: f.At.String(), Do: freeText(f.Do.String())}
		for _, s := range f.Meanwhile {
			ft.Meanwhile = append(ft.Meanwhile, s.String())
		}
		ct.Plan = append(ct.Plan, ft)
	}
	return ct
}

// caseParser parses a case, and finds the line and column of each error.
type caseParser struct {
	file string
	tree *ast.File // nil if errors have no place
	root string    // the YAML path of the case
}

func (p caseParser) build(ct caseText, errs []error) (Case, error) {
	c := Case{
		Name:       ct.Name,
		About:      string(ct.About),
		Issues:     ct.Issues,
		Containerd: string(ct.Containerd),
		Workload:   ct.Workload,
		Bugs:       ct.Bugs,
	}
	for i, ft := range ct.Plan {
		f, err := p.fault(ft, fmt.Sprintf("plan[%d]", i))
		errs = append(errs, err...)
		c.Plan = append(c.Plan, f)
	}
	if len(errs) == 0 { // because a field that could not be parsed is already reported
		for _, e := range c.problems() {
			errs = append(errs, p.at(e.path, firstLine(e.err)))
		}
	}
	return c, errors.Join(errs...)
}

// errNoAction reports a fault without the key do.
var errNoAction = errors.New("the fault has a point (at:), but no action: add do:, such as do: 1*error(injected)")

func (p caseParser) fault(ft faultText, path string) (f failpoints.Fault, errs []error) {
	var err error
	if f.At, err = failpoints.ParsePoint(ft.At); err != nil {
		errs = append(errs, p.at(path+".at", err))
	}
	switch f.Do, err = term.Parse(string(ft.Do)); {
	case ft.Do == "":
		errs = append(errs, p.at(path, errNoAction))
	case err != nil:
		errs = append(errs, p.at(path+".do", err))
	}
	for i, s := range ft.Meanwhile {
		st, err := failpoints.ParseStep(s)
		if err != nil {
			errs = append(errs, p.at(fmt.Sprintf("%s.meanwhile[%d]", path, i), err))
		}
		f.Meanwhile = append(f.Meanwhile, st)
	}
	return f, errs
}

// PlaceAt returns err with the line and column of a key path, such as "left[1]", in a
// parsed file.
func PlaceAt(file string, tree *ast.File, path string, err error) error {
	return caseParser{file: file, tree: tree, root: "$"}.at(path, err)
}

// PlaceYAML returns an error of the YAML library as an *InputError with its line and
// column.
func PlaceYAML(file string, err error) error { return caseParser{file: file}.wrap(err) }

// at returns err with the line and column of a key path below the case, such as
// "plan[0].do". If that key is missing, at uses the nearest existing key above it.
func (p caseParser) at(path string, err error) error {
	for p.tree != nil && path != "" {
		yp, perr := yaml.PathString(p.root + "." + path)
		if perr != nil {
			break
		}
		if node, nerr := yp.FilterFile(p.tree); nerr == nil && node != nil {
			return p.atNode(node, err)
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return &InputError{File: p.file, Err: err}
}

// begin returns the position of the first character of a node. The YAML library reports
// the colon as the position of a mapping.
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

// wrap returns an error of the YAML library with its line and column, and without the
// excerpt of the file that the library adds.
func (p caseParser) wrap(err error) error {
	e := &InputError{File: p.file, Err: errors.New(firstLine(err).Error())}
	var ye yaml.Error
	if errors.As(err, &ye) {
		e.Err = errors.New(ye.GetMessage())
		if wrong := (*yaml.TypeError)(nil); errors.As(err, &wrong) {
			e.Err = fmt.Errorf("expected %s, not %q", kindWords(wrong.DstType), wrong.Token.Value)
		}
		if t := ye.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

// kindWords describes the kind of value that a key takes.
func kindWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "keys"
	case reflect.String:
		return "text"
	}
	return "a number"
}

func firstLine(err error) error {
	line, _, more := strings.Cut(err.Error(), "\n")
	if !more {
		return err
	}
	return errors.New(line)
}
