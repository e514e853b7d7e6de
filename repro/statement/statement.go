// Package statement knows what releases of containerd can log and which errors they can
// make: the formats of their source, with the function that each stands in. A line of a
// report is matched with them, so that it names a place in the source.
package statement

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// Kind says what a statement does with its text.
type Kind string

// The kinds.
const (
	Log   Kind = "log"   // logs it
	Error Kind = "error" // makes an error of it
	Panic Kind = "panic" // no statement: the Go runtime ends a program with it
)

// Statement is a place in containerd's source that makes a text.
type Statement struct {
	// File is the file within the module, as in the newest release that has it:
	// "core/runtime/v2/shim.go".
	File string `json:"file"`
	// Func is the function with its type: "ShimManager.startShim", or "" where a package's
	// variable is.
	Func string `json:"func,omitempty"`
	Kind Kind   `json:"kind"`
	// Level is that of a Log, as logrus names it: "warning".
	Level string `json:"level,omitempty"`
	// Format is the text with the verbs of package fmt. %w stands where the text of another
	// error follows, also where the source has %v for one.
	Format string `json:"format"`
	// Code is the code of the error that it makes, as errdefs name it: "NotFound".
	Code string `json:"code,omitempty"`
	// Fields are the names of the fields that a Log has, in their order.
	Fields []string `json:"fields,omitempty"`
	// Releases have it, of the releases that were read.
	Releases []string `json:"releases"`
}

// Name is the statement in a few words for people: "core/runtime/v2/shim.go loadShim".
func (s Statement) Name() string { return strings.TrimSpace(s.File + " " + s.Func) }

// in reports whether a release has the statement, or another of its minor version, if it
// is one. All have it where release is "" or no release.
func (s Statement) in(release string) bool {
	line := semver.MajorMinor(release)
	return line == "" || slices.ContainsFunc(s.Releases, func(r string) bool { return semver.MajorMinor(r) == line })
}

// compare puts statements in the order of their text.
func compare(a, b Statement) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Format, b.Format), cmp.Compare(a.File, b.File),
		cmp.Compare(a.Func, b.Func), cmp.Compare(a.Level, b.Level), cmp.Compare(a.Code, b.Code),
		slices.Compare(a.Fields, b.Fields))
}

// verb is one of package fmt's.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?[\d*]*(?:\.[\d*]+)?([a-zA-Z%])`)

// parts are the literals of a format and the verbs between them: one literal more than
// verbs.
func parts(format string) (literals []string, verbs []byte) {
	var literal strings.Builder
	rest := 0
	for _, m := range verb.FindAllStringSubmatchIndex(format, -1) {
		literal.WriteString(format[rest:m[0]])
		rest = m[1]
		if v := format[m[2]]; v != '%' {
			literals, verbs = append(literals, literal.String()), append(verbs, v)
			literal.Reset()
		} else {
			literal.WriteByte('%')
		}
	}
	literal.WriteString(format[rest:])
	return append(literals, literal.String()), verbs
}
