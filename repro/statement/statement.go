// Package statement has the log messages and errors in the source of containerd's
// releases: their formats and functions. It finds the function that made a line of a
// report.
package statement

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// Kind is the use of a statement's text.
type Kind string

// The kinds.
const (
	Log   Kind = "log"   // the statement logs the text
	Error Kind = "error" // the statement makes an error with the text
	Panic Kind = "panic" // the Go runtime prints the text when a program panics
)

// Statement is a place in containerd's source that makes a text.
type Statement struct {
	// Func is the function with its type, such as "ShimManager.startShim". It is "" for a
	// variable of the package.
	Func string `json:"func,omitempty"`
	Kind Kind   `json:"kind"`
	// Format is the text with the verbs of package fmt. It has %w for each wrapped error,
	// also if the source has %v.
	Format string `json:"format"`
	// Releases are the tested releases with this statement.
	Releases []string `json:"releases"`
}

// in reports whether any release with the same minor version has the statement. It
// returns true if the text is no release.
func (s Statement) in(release string) bool {
	line := semver.MajorMinor(release)
	return line == "" || slices.ContainsFunc(s.Releases, func(r string) bool { return semver.MajorMinor(r) == line })
}

// compare orders statements by kind, then by format, then by function.
func compare(a, b Statement) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Format, b.Format), cmp.Compare(a.Func, b.Func))
}

// verb matches a verb of package fmt.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?[\d*]*(?:\.[\d*]+)?([a-zA-Z%])`)

// parts returns the literals of a format and the verbs between them. There is one literal
// more than verbs.
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
