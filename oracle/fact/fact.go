// Package fact has the words in which findings are kept: keys, the values that a key may
// have, and their text form KEY=VALUE. It answers: what can be known of a finding?
//
// It imports no other room of the oracle.
package fact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/spelling"
)

// Facts are what is known of a finding's subject, a value for each key that is known:
//
//	Facts{Task: None, Bundle: Gone}
//
// They are comparable. In JSON and YAML they are a list of texts KEY=VALUE, in the order
// of the keys: [task=none, bundle=gone].
type Facts [factCount]string

// Fact is one of them.
type Fact struct {
	Key   Key
	Value string
}

// String is the text form, KEY=VALUE.
func (f Fact) String() string { return f.Key.String() + "=" + f.Value }

// Parse reads the text form of a fact. A wrong name is a *spelling.UnknownError
// with the nearest right one.
func Parse(text string) (Fact, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || value == "" {
		return Fact{}, fmt.Errorf("fact %q: expected KEY=VALUE, such as task=none", text)
	}
	for k := range factCount {
		if keys[k].name != name {
			continue
		}
		if known := keys[k].values; known != nil && !slices.Contains(known, value) {
			return Fact{}, spelling.Unknown("value of "+name, value, known)
		}
		return Fact{k, value}, nil
	}
	names := make([]string, factCount)
	for k := range factCount {
		names[k] = keys[k].name
	}
	return Fact{}, spelling.Unknown("fact", name, names)
}

// ParseAll reads a list of text forms.
func ParseAll(texts []string) (Facts, error) {
	var fs Facts
	for _, text := range texts {
		f, err := Parse(text)
		if err != nil {
			return fs, err
		}
		if old := fs[f.Key]; old != "" && old != f.Value {
			return fs, fmt.Errorf("fact %s: it is %s already", f, old)
		}
		fs[f.Key] = f.Value
	}
	return fs, nil
}

// All are those that are known, in the order of their keys.
func (fs Facts) All() []Fact {
	var out []Fact
	for k, v := range fs {
		if v != "" {
			out = append(out, Fact{Key(k), v})
		}
	}
	return out
}

// Has reports whether all of some facts are among these.
func (fs Facts) Has(some Facts) bool {
	for k, v := range some {
		if v != "" && fs[k] != v {
			return false
		}
	}
	return true
}

// With are these facts and some more. What both know, the others say.
func (fs Facts) With(more Facts) Facts {
	for k, v := range more {
		if v != "" {
			fs[k] = v
		}
	}
	return fs
}

// Cause are those that a finding has in common with the findings of other cases that have
// the same cause: no ids, pids, paths and times.
func (fs Facts) Cause() Facts {
	for k := range fs {
		if keys[k].scope != inCause {
			fs[k] = ""
		}
	}
	return fs
}

// Details are those of the facts that belong to one case alone, or nil: nothing may be
// matched with them.
func (fs Facts) Details() []Fact {
	return slices.DeleteFunc(fs.All(), func(f Fact) bool { return keys[f.Key].scope != inDetail })
}

// Texts are the text forms.
func (fs Facts) Texts() []string {
	all := fs.All()
	out := make([]string, len(all))
	for i, f := range all {
		out[i] = f.String()
	}
	return out
}

// String is the text form of all, separated by spaces.
func (fs Facts) String() string { return strings.Join(fs.Texts(), " ") }

// MarshalJSON is the list of the text forms.
func (fs Facts) MarshalJSON() ([]byte, error) { return json.Marshal(fs.Texts()) }

// UnmarshalJSON reads such a list.
func (fs *Facts) UnmarshalJSON(text []byte) error {
	var texts []string
	if err := json.Unmarshal(text, &texts); err != nil {
		return err
	}
	all, err := ParseAll(texts)
	*fs = all
	return err
}

// MarshalYAML is the list of the text forms, for the YAML library.
func (fs Facts) MarshalYAML() (any, error) { return fs.Texts(), nil }

// UnmarshalYAML reads such a list, for the YAML library.
func (fs *Facts) UnmarshalYAML(unmarshal func(any) error) error {
	var texts []string
	if err := unmarshal(&texts); err != nil {
		return err
	}
	all, err := ParseAll(texts)
	*fs = all
	return err
}
