package finding

import (
	_ "embed" // the table
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/oracle/fact"
)

// Kind is a row of the table of kinds: what is known about findings of an invariant and a
// class with some facts. For each property of a finding, the first row counts that
// matches the finding and has the property.
//
// Package wording fills the texts, which are for people. {task} stands for the value of
// a fact, and {"task"} for the quoted value. {ID} stands for a field of the subject.
// {~task} stands for a phrase of package wording.
type Kind struct {
	// Of are the invariant, the class and the facts: "leak shim state=zombie". The word *
	// stands for any invariant or class. The value * stands for any known value, and no
	// value for an unknown one: "hierarchies=* lease=".
	Of string
	// Noun names the findings of a match, Subject one finding, and Why is its reason. Do is
	// advice for the operator of a live node. Check must hold before.
	Noun, Subject, Why, Do, Check string

	// Needs are the facts without which a match would excuse findings of other causes.
	Needs []fact.Key
	// Cause are the facts that are equal in findings of one case with one cause.
	Cause []fact.Key
	// MayStay is set if a residue can have the class. The other classes are always bugs, so
	// that a new class is not excused by mistake. Only three findings about events can be
	// residues: a missing TaskDelete, a repetition without a change, a late create or start.
	MayStay bool `yaml:"mayStay"`
	// With are the classes that leak together with this one, for the same container or
	// pod. A leaked shim, for example, keeps its socket, its bundle and its cgroup.
	With []Class
	// Covers is set if the files below the path of such a finding are not reported again.
	Covers bool
	// Holds is set if containerd may hold descriptors and goroutines for such a leak.
	Holds bool

	pattern Pattern
}

// Pattern is the parsed text Of of a kind.
type Pattern struct {
	invariant Invariant
	class     Class
	values    []value
}

// value is a condition of a pattern: the value of a fact or of a field.
type value struct {
	of   func(Finding) string
	want []string // nil: any that is known
}

// NewPattern parses a pattern. It panics if the pattern has an unknown fact.
func NewPattern(text string) Pattern {
	var p Pattern
	for i, word := range strings.Fields(text) {
		name, want, isFact := strings.Cut(word, "=")
		switch {
		case isFact:
			p.values = append(p.values, newValue(name, want))
		case word != "*" && i == 0:
			p.invariant = Invariant(word)
		case word != "*":
			p.class = Class(word)
		}
	}
	return p
}

func newValue(name, want string) value {
	v := value{of: Getter(name)}
	if v.of == nil {
		panic(fmt.Sprintf("a pattern has the unknown fact %q", name))
	}
	if want == "*" {
		return v
	}
	v.want = strings.Split(want, ",")
	for _, w := range v.want {
		if _, err := fact.Parse(name + "=" + w); err != nil && w != "" {
			panic(err)
		}
	}
	return v
}

// Matches reports whether a finding matches.
func (p Pattern) Matches(f Finding) bool {
	if p.invariant != "" && p.invariant != f.Invariant || p.class != "" && p.class != f.Class {
		return false
	}
	return !slices.ContainsFunc(p.values, func(v value) bool {
		is := v.of(f)
		return v.want == nil && is == "" || v.want != nil && !slices.Contains(v.want, is)
	})
}

var fields = map[string]func(Finding) string{
	"ID": func(f Finding) string { return f.Subject.ID }, "Path": func(f Finding) string { return f.Subject.Path },
	"Dir":       func(f Finding) string { return path.Dir(f.Subject.Path) },
	"Namespace": func(f Finding) string { return f.Subject.Namespace },
	"Name":      func(f Finding) string { return f.Subject.Name },
	"PID":       func(f Finding) string { return strconv.Itoa(f.Subject.PID) },
	"Because":   func(f Finding) string { return f.Because },
}

// Getter returns the function that returns a fact or a field of findings, or nil.
func Getter(name string) func(Finding) string {
	if k, ok := fact.KeyOf(name); ok {
		return func(f Finding) string { return f.Facts[k] }
	}
	return fields[name]
}

//go:embed kinds.yaml
var kindsText []byte

// kinds is the table, with its patterns.
var kinds = func() (all []Kind) {
	if err := yaml.UnmarshalWithOptions(kindsText, &all, yaml.Strict()); err != nil {
		panic(fmt.Errorf("kinds.yaml: %w", err))
	}
	for i := range all {
		all[i].pattern = NewPattern(all[i].Of)
	}
	return all
}()

// Kinds returns the table.
func Kinds() []Kind { return slices.Clone(kinds) }

// Kind returns the first row of the finding with a property.
func (f Finding) Kind(has func(Kind) bool) Kind {
	for _, k := range kinds {
		if has(k) && k.pattern.Matches(f) {
			return k
		}
	}
	return Kind{}
}

// ofClasses has the first row of each class that is about all of its findings.
var ofClasses = func() map[Class]Kind {
	all := map[Class]Kind{}
	for _, k := range slices.Backward(kinds) {
		if k.pattern.values == nil {
			all[k.pattern.class] = k
		}
	}
	return all
}()

// Kind returns the row of the class.
func (c Class) Kind() Kind { return ofClasses[c] }

// ClassesThat returns the classes with a property.
func ClassesThat(are func(Kind) bool) []Class {
	return slices.DeleteFunc(slices.Clone(Classes), func(c Class) bool { return !are(c.Kind()) })
}

// LeakClasses are the classes of leaks, in the order of findings. A test in
// suites/control plants a leak of each class, and requires the finding. Classes are all.
var (
	LeakClasses = classesOf(Leak)
	Classes     = classesOf("")
)

// classesOf returns the classes of the rows of an invariant, or of all rows, in their
// order.
func classesOf(i Invariant) (all []Class) {
	for _, k := range kinds {
		if c := k.pattern.class; (i == "" || i == k.pattern.invariant) && c != "" && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}
