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

// caseKeys are the mappings of a case file, by their paths.
var caseKeys = keysOf(reflect.TypeFor[caseText](), "", map[string]mapping{})

// keysOf collects the keys of a struct's text form, and of the structs in it.
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
// for each invalid duration. It stops after mostWrong errors. The strict mode of the YAML
// library stops at the first, and suggests no names.
func (p caseParser) keys(node ast.Node, path string) (errs []error) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if errs = append(errs, p.key(v, path)...); len(errs) >= mostWrong {
				break
			}
		}
	case *ast.MappingValueNode:
		return p.key(n, path)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if errs = append(errs, p.keys(v, path)...); len(errs) >= mostWrong {
				break
			}
		}
	}
	return errs
}

func (p caseParser) key(v *ast.MappingValueNode, path string) []error {
	m, nested := caseKeys[path]
	if !nested {
		return nil // the decoder reports its wrong type
	}
	name := v.Key.GetToken().Value
	if steps, was := inScript[name]; was && !slices.Contains(m.keys, name) {
		return []error{p.here(v.Key, &removedKeyError{name, steps})}
	}
	if !slices.Contains(m.keys, name) {
		return []error{p.here(v.Key, &spelling.UnknownError{
			What: "key", Name: name, Nearest: spelling.Nearest(name, m.keys), Known: m.keys,
		})}
	}
	if m.types[name] == reflect.TypeFor[time.Duration]() {
		text := v.Value.GetToken().Value
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return []error{p.here(v.Value, fmt.Errorf("%s %q: expected a duration such as 2s", name, text))}
		}
	}
	return p.keys(v.Value, path+"."+name)
}

// here places an error at a node.
func (p caseParser) here(node ast.Node, err error) *InputError {
	at := begin(node)
	column := at.Column
	if step := (*script.Error)(nil); errors.As(err, &step) {
		column += step.Column
	}
	return &InputError{File: p.file, Line: at.Line, Column: column, Err: err}
}

// anyDuration reads any text as a duration, because keys has reported invalid ones.
var anyDuration = yaml.CustomUnmarshaler(func(d *time.Duration, text []byte) error {
	*d, _ = time.ParseDuration(strings.Trim(string(text), " \n\"'"))
	return nil
})

// inScript are the steps of a script that replace a key.
var inScript = map[string]string{
	"killAgain":      "create c0 once more, and kill its shim by the plan",
	"deleters":       "delete c0 & twice",
	"creators":       "new c0, create c0 &, create c0",
	"waiters":        "wait c0 &",
	"libraryDelete":  "leave it out, and set api: ctr",
	"exec":           "exec c0/e0; wait c0/e0; delete c0/e0, by CRI execsync c0/e0, with execs: [{exit: 3}]",
	"heldExec":       "exec c0/e0, by CRI execsync c0/e0 &, with execs: [{stays: true}]",
	"execSignal":     "exec c0/e0; end c0/e0, with execs: [{signal: SIGTERM}]",
	"backgroundExec": "exec c0/e0, with execs: [{exit: 9, leavesChild: true}]",
	"noSuchExec":     "add c0/e0; wait c0/e0 &; start c0/e0, with execs: [{noSuchCommand: true}]",
	"execStartAgain": "start c0/e0 twice",
	"lateKill":       "reuse-pid c0; kill c0 SIGKILL, behind wait c0",
	"pause":          "pause c0; resume c0",
	"restart":        "restart containerd",
	"rest":           "soak 6s",
	"held":           "a payload waits for its end step",
	"loops":          "repeat 2 create c0; start c0; end c0; wait c0; remove c0; inventory",
	"late":           "start c1, behind restart containerd",
	"withPod":        "a container that nothing ends runs until its pod is stopped",
	"timedExec":      "execsync c0/e0 1s, with execs: [{stays: true}]",
	"stream":         "exec c0/e0 &, attach c0/a0, write, close and disconnect",
	"goneExec":       "execsync c0/e0 & and cancel c0/e0, with execs: [{stays: true}]",
}

// removedKeyError is a key that steps of a script have replaced.
type removedKeyError struct{ key, steps string }

func (e *removedKeyError) Error() string {
	return fmt.Sprintf("%s is no key any more: write script: %s", e.key, e.steps)
}

// unknownKey reports whether an error is about a key, so that nothing can be decoded.
func unknownKey(err error) bool {
	var u *spelling.UnknownError
	var r *removedKeyError
	return errors.As(err, &u) || errors.As(err, &r)
}
