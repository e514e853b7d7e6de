package main

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

const module = "github.com/shimquake/shimquake"

// rooms are the folders of the packages whose types are in a history.
var rooms = []string{"harness", "oracle", "failpoints", "fixtures"}

// schema returns the JSON Schema of a kept history. Its comments come from the checkout
// in dir.
func schema(dir string) ([]byte, error) {
	said, err := comments(dir)
	if err != nil {
		return nil, err
	}
	defs := jsonschema.Definitions{
		"nanoseconds": {Type: "integer", Description: "A duration in nanoseconds."},
	}
	add := func(r jsonschema.Reflector, t reflect.Type) {
		r.CommentMap, r.LookupComment = said, typeComment(said)
		maps.Copy(defs, r.ReflectFromType(t).Definitions)
	}
	met := map[string]reflect.Type{}
	add(historyTypes(met), reflect.TypeFor[harness.History]())
	add(historyTypes(met), reflect.TypeFor[harness.Record]())
	defs["History"].Properties.Set("log", &jsonschema.Schema{Type: "array", Items: ref("Record", ""),
		Description: "What was observed, in the order of time."})
	add(historyTypes(met), reflect.TypeFor[harness.Verdict]())
	nullable(defs, met)
	add(caseTypes(), reflect.TypeFor[harness.Case]())
	for name, keys := range map[string][]string{
		"case.Case": {"name"}, "case.failpoints.Fault": {"at", "do"},
	} {
		defs[name].Required = keys
	}
	for name, t := range textTypes {
		defs[name] = &jsonschema.Schema{Type: "string", Description: said[t.PkgPath()+"."+t.Name()]}
	}
	text, err := json.MarshalIndent(keptFile(defs), "", " ")
	return append(text, '\n'), err
}

// keptFile returns the schema of the file, which refers to the schemas of the types.
func keptFile(defs jsonschema.Definitions) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Version: jsonschema.Version, Type: "object", Definitions: defs,
		Title: "A kept history of Shimquake: " + harness.HistoryFile + " in a folder of evidence",
		Description: "Made by `make docs` from the Go types and their comments. Keys without a value are left out." +
			" Process ids are from the world's PID namespace.",
		Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
		Required: []string{"shimquake", "format", "digest", "verdict", "history"},
	}
	s.Properties.Set("shimquake", &jsonschema.Schema{Const: "history"})
	s.Properties.Set("format", &jsonschema.Schema{Const: harness.HistoryFormat,
		Description: "The version of this form."})
	s.Properties.Set("digest", &jsonschema.Schema{Type: "string", Pattern: "^[0-9a-f]{16}$",
		Description: "The start of the SHA-256 of the history's bytes. Shimquake refuses a history that was edited."})
	s.Properties.Set("verdict", ref("Verdict",
		"The verdict of the shimquake that ran the case. `shimquake judge` makes a new one of the history."))
	s.Properties.Set("history", ref("History", ""))
	return s
}

func ref(name, description string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/$defs/" + name, Description: description}
}

// textTypes are the types that JSON has as a string, by their names in the schema.
var textTypes = map[string]reflect.Type{
	"failpoints.Point": reflect.TypeFor[failpoints.Point](),
	"failpoints.Step":  reflect.TypeFor[failpoints.Step](),
	"term.Term":        reflect.TypeFor[term.Term](),
	"finding.Match":    reflect.TypeFor[finding.Match](),
}

// historyTypes describes types in the form that encoding/json writes. It adds the types
// that it finds to met, by their names in the schema.
func historyTypes(met map[string]reflect.Type) jsonschema.Reflector {
	namer := func(t reflect.Type) string {
		met[title(t)] = t
		return title(t)
	}
	return jsonschema.Reflector{Anonymous: true, Namer: namer, Mapper: func(t reflect.Type) *jsonschema.Schema {
		switch t {
		case reflect.TypeFor[time.Time]():
			return nil
		case reflect.TypeFor[time.Duration]():
			return ref("nanoseconds", "")
		case reflect.TypeFor[harness.Case]():
			return ref("case.Case", "")
		case reflect.TypeFor[harness.Container]():
			return ref("case.Container", "")
		case reflect.TypeFor[fact.Facts]():
			return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string", Pattern: "^[a-z-]+="}}
		}
		if _, is := textTypes[title(t)]; is {
			return ref(title(t), "")
		}
		if t == reflect.TypeFor[harness.History]() {
			return nil // schema adds the log
		}
		if implements[json.Marshaler](t) || implements[encoding.TextMarshaler](t) {
			panic(fmt.Sprintf("%s has a JSON form of its own: say which", t))
		}
		return nil
	}}
}

// nullable allows null for a list that is written although it is nil.
func nullable(defs jsonschema.Definitions, met map[string]reflect.Type) {
	for name, t := range met {
		if defs[name] == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			property, ok := defs[name].Properties.Get(cmp.Or(key, f.Name))
			if !ok || f.Type.Kind() != reflect.Slice || strings.Contains(options, "omit") {
				continue
			}
			text := property.Description
			property.Description = ""
			defs[name].Properties.Set(cmp.Or(key, f.Name), &jsonschema.Schema{Description: text,
				OneOf: []*jsonschema.Schema{property, {Type: "null"}}})
		}
	}
}

// caseTypes describes types in the form that harness.Case encodes itself: with the keys
// of a case file.
func caseTypes() jsonschema.Reflector {
	return jsonschema.Reflector{Anonymous: true, FieldNameTag: "yaml",
		KeyNamer:                   func(name string) string { return strings.ToLower(name[:1]) + name[1:] },
		RequiredFromJSONSchemaTags: true,
		Namer: func(t reflect.Type) string {
			if t.Name() == "" {
				return ""
			}
			return "case." + title(t)
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[time.Duration]() {
				return &jsonschema.Schema{Type: "string", Pattern: `^([0-9.]+(h|m|s|ms|us|µs|ns))+$`}
			}
			if _, is := textTypes[title(t)]; is {
				return ref(title(t), "")
			}
			return nil
		}}
}

// title returns the name of a type in the schema, "" for a type without a name. Two
// packages may have types with the same name.
func title(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	return strings.TrimPrefix(t.String(), "harness.")
}

func implements[T any](t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[T]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[T]())
}

// comments returns the comments of types and their fields, each in one line.
func comments(dir string) (map[string]string, error) {
	before, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if err := os.Chdir(dir); err != nil { // the library turns relative paths into import paths
		return nil, err
	}
	var r jsonschema.Reflector
	for _, room := range rooms {
		if err = r.AddGoComments(module, room, jsonschema.WithFullComment()); err != nil {
			return nil, fmt.Errorf("read the comments of %s: %w", room, err)
		}
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	return r.CommentMap, os.Chdir(before)
}

// typeComment returns a function that describes a field without a comment by the comment
// of its type, unless the field refers to the type.
func typeComment(said map[string]string) func(reflect.Type, string) string {
	return func(t reflect.Type, field string) string {
		if t.Kind() != reflect.Struct {
			return ""
		}
		f, ok := t.FieldByName(field)
		if !ok || said[t.PkgPath()+"."+t.Name()+"."+field] != "" || f.Type.Kind() != reflect.String {
			return ""
		}
		return said[f.Type.PkgPath()+"."+f.Type.Name()]
	}
}
