package harness

import (
	"errors"

	"github.com/goccy/go-yaml/ast"

	"github.com/shimquake/shimquake/failpoints"
)

// caseKeys are the keys that each mapping of a case file may have, by the path of the mapping.
var caseKeys = map[string][]string{
	"":                     {"name", "about", "issues", "containerd", "workload", "plan", "bad"},
	".workload":            {"api", "containers", "grouped", "callTimeout", "deadline", "settle", "thorough", "fakeshim", "restart", "deleters"},
	".workload.containers": {"exit", "signal", "holdStdout"},
	".plan":                {"at", "do", "while"},
	".bad":                 {"releases", "by", "may", "issue"},
}

// keys reports the unknown keys below node, each with the nearest right one. The YAML library's own strict mode stops at the
// first, and knows no names to suggest.
func (p caseParser) keys(node ast.Node, path string, known map[string][]string) error {
	var errs []error
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			errs = append(errs, p.key(v, path, known))
		}
	case *ast.MappingValueNode:
		return p.key(n, path, known)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			errs = append(errs, p.keys(v, path, known))
		}
	}
	return errors.Join(errs...)
}

func (p caseParser) key(v *ast.MappingValueNode, path string, known map[string][]string) error {
	names, nested := known[path]
	if !nested {
		return nil // the decoder says what is wrong with its type
	}
	name := v.Key.GetToken().Value
	for _, n := range names {
		if n == name {
			return p.keys(v.Value, path+"."+name, known)
		}
	}
	pos := v.Key.GetToken().Position
	return &InputError{File: p.file, Line: pos.Line, Column: pos.Column, Err: &failpoints.UnknownError{
		What: "key", Name: name, Nearest: failpoints.Nearest(name, names), Known: names,
	}}
}
