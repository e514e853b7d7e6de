package foreign_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/shimquake/shimquake/foreign"
)

// entries counts as CountEntries does, but in decoded JSON.
func entries(v any, key string, counts map[string]int) {
	switch v := v.(type) {
	case []any:
		counts[key] += len(v)
		for _, e := range v {
			entries(e, "", counts)
		}
	case map[string]any:
		for k, e := range v {
			entries(e, k, counts)
		}
	}
}

// A list whose key is known has as many entries as it has when it is decoded.
func FuzzCountEntries(f *testing.F) {
	for _, text := range []string{
		`{"k":[1,2],"o":{"k":[{}]}}`, `{"k":[]}`, `{"k":["[,","\"]"]}`, `{"k":[{"k":[1]},{"a":1,"b":2}]}`, `[]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if bytes.Contains(text, []byte(`\u`)) || json.Unmarshal(text, &v) != nil { // an escaped key is another key
			return
		}
		want := map[string]int{}
		entries(v, "", want)
		if got := foreign.CountEntries(text); got["k"] < want["k"] {
			t.Errorf("%d entries, want %d", got["k"], want["k"])
		}
	})
}
