package harness

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/spelling"
)

// mapping describes a mapping of a case file: its keys in their order, and the types of
// their values.
type mapping struct {
	keys  []string
	types map[string]reflect.Type
}

// caseKeys holds the mappings of a case file by their key path, such as
// ".workload.execs".
var caseKeys = keysOf(reflect.TypeFor[caseText](), "", map[string]mapping{})

// keysOf adds the keys of a struct's text form, and of all structs in it, to into.
func keysOf(t reflect.Type, path string, into map[string]mapping) map[string]mapping {
	m := mapping{types: map[string]reflect.Type{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		m.keys, m.types[name] = append(m.keys, name), f.Type
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			keysOf(inner, path+"."+name, into)
		}
	}
	into[path] = m
	return into
}

// keys returns an error for each unknown key below node, with the nearest known key, and
// for each invalid duration. It stops after maxKeyErrors errors. The YAML library's
// strict mode stops at the first error and suggests no names, so it is not used here.
func (p caseParser) keys(node ast.Node, path string) (errs []error) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if errs = append(errs, p.key(v, path)...); len(errs) >= maxKeyErrors {
				break
			}
		}
	case *ast.MappingValueNode:
		return p.key(n, path)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if errs = append(errs, p.keys(v, path)...); len(errs) >= maxKeyErrors {
				break
			}
		}
	}
	return errs
}

func (p caseParser) key(v *ast.MappingValueNode, path string) []error {
	m, nested := caseKeys[path]
	if !nested {
		return nil // a value, where no mapping is expected: the decoder reports the wrong type
	}
	name := v.Key.GetToken().Value
	if !slices.Contains(m.keys, name) {
		return []error{p.atNode(v.Key, &spelling.UnknownError{
			What: "key", Name: name, Nearest: spelling.Nearest(name, m.keys), Known: m.keys,
		})}
	}
	if m.types[name] == reflect.TypeFor[time.Duration]() {
		text := v.Value.GetToken().Value
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return []error{p.atNode(v.Value, fmt.Errorf("%s %q: expected a duration such as 2s", name, text))}
		}
	}
	return p.keys(v.Value, path+"."+name)
}

// atNode returns err with the file, line and column of a node.
func (p caseParser) atNode(node ast.Node, err error) *InputError {
	at := begin(node)
	column := at.Column
	if step := (*script.Error)(nil); errors.As(err, &step) {
		column += step.Column
	}
	return &InputError{File: p.file, Line: at.Line, Column: column, Err: err}
}

// anyDuration decodes a duration, and returns 0 for invalid text. caseParser.keys has
// already reported that text.
var anyDuration = yaml.CustomUnmarshaler(func(d *time.Duration, text []byte) error {
	*d, _ = time.ParseDuration(strings.Trim(string(text), " \n\"'"))
	return nil
})

// isKeyError reports whether err is about an unknown key. Such a case is not decoded.
func isKeyError(err error) bool {
	var u *spelling.UnknownError
	return errors.As(err, &u)
}
