package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

const file = "../../docs/history.schema.json"

// TestSchemaIsFresh compares docs/history.schema.json with the types.
func TestSchemaIsFresh(t *testing.T) {
	want := must.Get(schema("../.."))(t)
	have := must.Get(os.ReadFile(file))(t)
	must.Equal(t, have, want, "docs/history.schema.json is not what the types say", "run make docs")
	var s struct {
		Defs map[string]struct{ Description string } `json:"$defs"`
	}
	must.Succeed(t, json.Unmarshal(want, &s))
	for name, def := range s.Defs {
		if def.Description == "" {
			t.Errorf("%s has no comment", name)
		}
	}
}

// check returns a function that checks a text against the schema of the docs.
func check(t *testing.T) func(text []byte) error {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must.Succeed(t, c.AddResource("history.schema.json", doc))
	s := must.Get(c.Compile("history.schema.json"))(t)
	return func(text []byte) error {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return s.Validate(doc)
	}
}

// realHistories are kept histories of real cases.
func realHistories(t *testing.T) map[string]harness.Kept {
	t.Helper()
	files, err := filepath.Glob("../shimquake/testdata/kept/*.json.gz")
	if err != nil || len(files) < 4 {
		t.Fatalf("only %d histories: %v", len(files), err)
	}
	all := map[string]harness.Kept{}
	for _, name := range files {
		f := must.Get(os.Open(name))(t)
		z := must.Get(gzip.NewReader(f))(t)
		text, err := io.ReadAll(z)
		must.Succeed(t, errors.Join(err, f.Close()))
		if all[name], err = harness.DecodeKept(name, text); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestHistoriesFit checks that the schema accepts real histories, a history with a
// value in each field, and a history without values.
func TestHistoriesFit(t *testing.T) {
	wrong, all := check(t), realHistories(t)
	all["no value"] = harness.Kept{History: harness.History{Case: harness.Case{Name: "x"}}}
	full := harness.Kept{}
	fill(reflect.ValueOf(&full).Elem(), 0)
	all["every field"] = full
	for name, k := range all {
		text := must.Get(k.Encode())(t)
		must.Equal(t, wrong(text), nil, name)
	}
}

// fill gives a value to each field, and to the fields of each value.
func fill(v reflect.Value, depth int) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1, 5)))
		return
	case v.Type() == reflect.TypeFor[*harness.History](): // in a verdict, which leaves it out
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f, depth+1)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		if v.CanInt() {
			v.SetInt(1)
		} else {
			v.SetUint(1)
		}
	}
}

// TestWrongHistoriesDoNotFit changes a real history in one place.
func TestWrongHistoriesDoNotFit(t *testing.T) {
	wrong, all := check(t), realHistories(t)
	text := must.Get(all["../shimquake/testdata/kept/violated.json.gz"].Encode())(t)
	for _, change := range []struct{ from, to, says string }{
		{`"format":6`, `"format":2`, "/format"},
		{`"digest":"`, `"digest":"x`, "/digest"},
		{`"history":{`, `"history":{"colour":1,`, "colour"},
		{`{"call":{`, `{"call":{"colour":1,`, "/call"},
		{`"reached":"completed"`, `"reached":1`, "/history/reached"},
		{`"workload":{`, `"workload":{"colour":1,`, "/history/case/workload"},
		{`{"exit":{"pid":`, `{"exit":{"pid":1.5,"was":`, "/exit/pid"},
		{`"began":"2`, `"began":"at 2`, "/history/began"},
		{`"facts":["task=none"`, `"facts":["task none"`, "/facts/0"},
		{`"log":[{`, `"log":[{"events":[]},{`, "/history/log/0"},
	} {
		changed := strings.Replace(string(text), change.from, change.to, 1)
		if changed == string(text) {
			t.Errorf("the history has no %s", change.from)
		} else if err := wrong([]byte(changed)); err == nil || !strings.Contains(err.Error(), change.says) {
			t.Errorf("%s: %v; want an error that says %q", change.to, err, change.says)
		}
	}
}
