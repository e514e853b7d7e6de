// Package signature finds the statements by which a bug is known. A run of the bug's case
// has logged them, and the same run without a fault has not.
package signature

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/statement"
)

// Said has the log of containerd in a run, and its errors as responses to the client.
type Said struct {
	Log    string
	Errors []string
	Calls  []string // the calls that failed, an error each
}

// mostLog is how long a kept log may be, in bytes: evidence has the last 8 MiB of it.
const mostLog = 16 << 20

// SaidIn reads what containerd has said in a run, from the folder of its evidence.
func SaidIn(evidence string) (s Said, err error) {
	if evidence == "" {
		return s, errors.New("the run has kept no evidence")
	}
	log, err := foreign.ReadFile(filepath.Join(evidence, "containerd.log"), mostLog)
	if err != nil {
		return s, err
	}
	s.Log = string(log)
	name := filepath.Join(evidence, harness.HistoryFile)
	text, err := foreign.ReadFile(name, harness.MostHistory)
	if err != nil {
		return s, err
	}
	k, err := harness.DecodeKept(name, text)
	for _, c := range k.History.Calls {
		if c.Err != nil {
			s.Errors = append(s.Errors, fmt.Sprintf("rpc error: code = %s desc = %s", c.Err.Code, c.Err.Said))
			s.Calls = append(s.Calls, strings.TrimSpace(c.Verb+" "+c.Of))
		}
	}
	return s, err
}

// Of returns the keys, sorted, of a run that the same run without a fault does not have.
func Of(run, without Said) (keys []string) {
	before := map[string]bool{}
	for _, k := range without.keys() {
		before[k] = true
	}
	for _, k := range run.keys() {
		if !before[k] {
			before[k] = true
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// Lines returns the warnings and errors in the log of a run that are not in the log of
// the same run without a fault. Of several that the same statement made it returns the
// first.
func Lines(run, without Said) (lines []string) {
	before := map[string]bool{}
	for _, k := range without.keys() {
		before[k] = true
	}
	for line := range strings.Lines(run.Log) {
		if !wrong.MatchString(line) {
			continue
		}
		for _, m := range read.Logged(line) {
			fresh := false
			if len(m.Chain) == 0 { // of a library
				continue
			}
			for _, k := range Keys(m) {
				fresh = fresh || !before[k]
				before[k] = true
			}
			if fresh {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

var wrong = regexp.MustCompile(`\blevel=(warning|error|fatal|panic)\b|^(panic|fatal error): `)

func (s Said) keys() (keys []string) {
	for _, m := range read.Logged(s.Log) {
		keys = append(keys, Keys(m)...)
	}
	for _, text := range s.Errors {
		keys = append(keys, Keys(statement.KnownTable().Error(text))...)
	}
	return keys
}

// Keys name the statements and codes of a line: "log failed to load shim %s", "error stat
// %s: %w", "code ENOENT".
func Keys(m statement.Match) (keys []string) {
	for _, x := range m.Chain {
		keys = append(keys, string(x.Kind)+" "+x.Format)
	}
	for _, code := range m.Codes {
		keys = append(keys, "code "+code)
	}
	return keys
}
