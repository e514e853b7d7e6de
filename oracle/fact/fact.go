// Package fact defines the facts of findings: their keys, the values of a key, and the
// text form KEY=VALUE. It answers: which details of a finding can be matched?
//
// It imports no other package of the oracle.
package fact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/spelling"
)

// Facts are the known facts of a finding, by key:
//
//	Facts{Task: None, Bundle: Gone}
//
// A value is "" if the fact is unknown. Facts are comparable. In JSON and YAML they are a
// list of texts KEY=VALUE, in the order of the keys: [task=none, bundle=gone].
type Facts [factCount]string

// Fact is one key with its value.
type Fact struct {
	Key   Key
	Value string
}

// String returns the text form, KEY=VALUE.
func (f Fact) String() string { return f.Key.String() + "=" + f.Value }

// Parse parses the text form of a fact. For an unknown name it returns a
// *spelling.UnknownError with the nearest known name.
func Parse(text string) (Fact, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || value == "" {
		return Fact{}, fmt.Errorf("fact %q: expected KEY=VALUE, such as task=none", text)
	}
	k, ok := KeyOf(name)
	if !ok {
		return Fact{}, unknownKey(name)
	}
	if known := keys[k].values; known != nil && !slices.Contains(known, value) {
		return Fact{}, spelling.Unknown("value of "+name, value, known)
	}
	return Fact{k, value}, nil
}

// UnmarshalText reads the key's name.
func (k *Key) UnmarshalText(name []byte) error {
	is, ok := KeyOf(string(name))
	if *k = is; !ok {
		return unknownKey(string(name))
	}
	return nil
}

func unknownKey(name string) error {
	names := make([]string, factCount)
	for k := range factCount {
		names[k] = keys[k].name
	}
	return spelling.Unknown("fact", name, names)
}

// KeyOf returns the key with a name.
func KeyOf(name string) (key Key, ok bool) {
	for k := range factCount {
		if keys[k].name == name {
			return k, true
		}
	}
	return 0, false
}

// ParseAll parses a list of text forms.
func ParseAll(texts []string) (Facts, error) {
	var fs Facts
	for _, text := range texts {
		f, err := Parse(text)
		if err != nil {
			return fs, err
		}
		if old := fs[f.Key]; old != "" && old != f.Value {
			return fs, fmt.Errorf("fact %s: the list also has %s=%s: remove one", f, f.Key, old)
		}
		fs[f.Key] = f.Value
	}
	return fs, nil
}

// All returns the known facts, in the order of their keys.
func (fs Facts) All() []Fact {
	var out []Fact
	for k, v := range fs {
		if v != "" {
			out = append(out, Fact{Key(k), v})
		}
	}
	return out
}

// Has reports whether these facts include all of some other facts.
func (fs Facts) Has(some Facts) bool {
	for k, v := range some {
		if v != "" && fs[k] != v {
			return false
		}
	}
	return true
}

// Agrees reports whether the facts that both have are equal.
func (fs Facts) Agrees(other Facts) bool {
	for k, v := range other {
		if v != "" && fs[k] != "" && fs[k] != v {
			return false
		}
	}
	return true
}

// With returns these facts with more facts added. Added values replace earlier ones.
func (fs Facts) With(more Facts) Facts {
	for k, v := range more {
		if v != "" {
			fs[k] = v
		}
	}
	return fs
}

// Cause returns the facts that are the same in all findings of one cause. Ids, pids and
// times are not among them.
func (fs Facts) Cause() Facts {
	for k := range fs {
		if keys[k].scope != inCause {
			fs[k] = ""
		}
	}
	return fs
}

// Details returns the facts that belong to one case, which no match may use.
func (fs Facts) Details() []Fact {
	return slices.DeleteFunc(fs.All(), func(f Fact) bool { return keys[f.Key].scope != inDetail })
}

// Texts returns the text forms.
func (fs Facts) Texts() []string {
	all := fs.All()
	out := make([]string, len(all))
	for i, f := range all {
		out[i] = f.String()
	}
	return out
}

// String returns all text forms, separated by spaces.
func (fs Facts) String() string { return strings.Join(fs.Texts(), " ") }

// MarshalJSON returns the list of the text forms.
func (fs Facts) MarshalJSON() ([]byte, error) { return json.Marshal(fs.Texts()) }

// UnmarshalJSON parses a list of text forms.
func (fs *Facts) UnmarshalJSON(text []byte) error {
	var texts []string
	if err := json.Unmarshal(text, &texts); err != nil {
		return err
	}
	all, err := ParseAll(texts)
	*fs = all
	return err
}

// MarshalYAML returns the list of the text forms, for the YAML library.
func (fs Facts) MarshalYAML() (any, error) { return fs.Texts(), nil }

// UnmarshalYAML parses a list of text forms, for the YAML library.
func (fs *Facts) UnmarshalYAML(unmarshal func(any) error) error {
	var texts []string
	if err := unmarshal(&texts); err != nil {
		return err
	}
	all, err := ParseAll(texts)
	*fs = all
	return err
}
