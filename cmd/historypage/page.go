package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

const module = "github.com/shimquake/shimquake/"

// page is docs/history.md, of the checkout in dir.
func page(dir string) (string, error) {
	w := walk{comments: comments{dir: dir}}
	w.add(reflect.TypeFor[harness.History]())
	for i := 0; i < len(w.types); i++ { // it grows meanwhile
		if err := w.table(w.types[i]); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf(head, harness.HistoryFile, harness.HistoryFormat) + w.text.String(), nil
}

const head = "# A kept history\n\n" +
	"Made by `make docs` from the types and their comments. `%s` of a folder of evidence is one JSON object:\n\n" +
	"```text\n" +
	`{"shimquake": "history", "format": %d, "digest": "...", "verdict": {}, "history": {}}` + "\n```\n\n" +
	"The verdict is that of the shimquake that ran the case; `shimquake judge` makes one anew of the history. The\n" +
	"digest is of the history's bytes: one that was edited is refused, and so is another format. A new key leaves\n" +
	"the format as it is; a key that means something else raises it. Keys without a value are left out. Times are\n" +
	"RFC 3339 with nanoseconds, pids those of the world.\n"

// walk is the structs of a form, each once, in the order in which they are met.
type walk struct {
	comments
	text  strings.Builder
	types []reflect.Type
	seen  map[reflect.Type]bool
}

func (w *walk) add(t reflect.Type) {
	if w.seen == nil {
		w.seen = map[reflect.Type]bool{}
	}
	if !w.seen[t] {
		w.seen[t] = true
		w.types = append(w.types, t)
	}
}

func (w *walk) table(t reflect.Type) error {
	says, err := w.ofType(t)
	if err != nil {
		return err
	}
	fmt.Fprintf(&w.text, "\n## %s\n\n%s\n\n| key | value | |\n| --- | --- | --- |\n", title(t), says.text)
	return w.rows(t)
}

// rows are the fields of a struct, with those of what it embeds.
func (w *walk) rows(t reflect.Type) error {
	says, err := w.ofType(t)
	if err != nil {
		return err
	}
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case key == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && key == "":
			if err := w.rows(bare(f.Type)); err != nil {
				return err
			}
		default:
			if key == "" {
				key = f.Name
			}
			fmt.Fprintf(&w.text, "| `%s` | %s | %s |\n", key, w.value(f.Type), says.fields[f.Name])
		}
	}
	return nil
}

// value is the JSON of a type, in words.
func (w *walk) value(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t == reflect.TypeFor[time.Duration]():
		return "nanoseconds"
	case t == reflect.TypeFor[json.RawMessage]():
		return "any"
	case implements[encoding.TextMarshaler](t):
		return "text"
	case t == reflect.TypeFor[harness.Case]():
		return "[case](write-a-case.md), as JSON"
	case t == reflect.TypeFor[oracle.Facts]():
		return "list: text, key=value"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.value(t.Elem())
	case reflect.Slice, reflect.Array:
		return "list: " + w.value(t.Elem())
	case reflect.Map:
		return "object: " + w.value(t.Elem())
	case reflect.Struct:
		w.add(t)
		return "[" + title(t) + "](#" + anchor(t) + ")"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "bool"
	}
	return "number"
}

func bare(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func implements[T any](t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[T]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[T]())
}

// title is a type's name; two packages may have one of the same name.
func title(t reflect.Type) string {
	name := t.String()
	return strings.TrimPrefix(name, "harness.")
}

func anchor(t reflect.Type) string { return strings.ToLower(strings.ReplaceAll(title(t), ".", "")) }
