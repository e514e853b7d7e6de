// Package signature finds the log statements and errors that identify a bug. A run of the
// bug's case logs them, and the same run without the fault does not.
package signature

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/statement"
)

// Logs has containerd's log of a run, and the errors that it returned to the client.
type Logs struct {
	Log    string
	Errors []string
	Calls  []string // the failed calls, in the order of Errors
}

// maxLog is the maximum size of a kept log in bytes. Evidence has the last 8 MiB of it.
const maxLog = 16 << 20

// LogsIn reads the log and the errors of a run from its folder of evidence.
func LogsIn(evidence string) (s Logs, err error) {
	if evidence == "" {
		return s, errors.New("the run has kept no evidence")
	}
	log, err := foreign.ReadFile(filepath.Join(evidence, "containerd.log"), maxLog)
	if err != nil {
		return s, err
	}
	s.Log = string(log)
	name := filepath.Join(evidence, harness.HistoryFile)
	text, err := foreign.ReadFile(name, harness.MaxHistory)
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

// Made returns the statements of the logged lines and of the errors.
func (s Logs) Made() []statement.Match {
	all := read.Logged(s.Log)
	for _, text := range s.Errors {
		all = append(all, statement.KnownTable().Error(text))
	}
	return all
}

// Of returns the sorted keys that a run has, and the same run without a fault does not
// have.
func Of(run, without Logs) []string {
	fresh, before := run.keys(), without.keys()
	maps.DeleteFunc(fresh, func(k string, _ bool) bool { return before[k] })
	return slices.Sorted(maps.Keys(fresh))
}

// Lines returns the warnings and errors in the log of a run that are not in the log of
// the same run without a fault. It returns only the first line of each statement.
func Lines(run, without Logs) (lines []string) {
	before := without.keys()
	for line := range strings.Lines(run.Log) {
		if !wrong.MatchString(line) {
			continue
		}
		for _, m := range read.Logged(line) {
			fresh := false
			if len(m.Chain) == 0 { // a library has logged it
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

// keys returns the set of the keys of a run.
func (s Logs) keys() map[string]bool {
	keys := map[string]bool{}
	for _, m := range s.Made() {
		for _, k := range Keys(m) {
			keys[k] = true
		}
	}
	return keys
}

// Keys returns the statements and codes of a line, such as "log failed to load shim %s",
// "error stat %s: %w" and "code ENOENT".
func Keys(m statement.Match) (keys []string) {
	for _, x := range m.Chain {
		keys = append(keys, string(x.Kind)+" "+x.Format)
	}
	for _, code := range m.Codes {
		keys = append(keys, "code "+code)
	}
	return keys
}
