// Package proof records that a fake shim misbehaved. The shim writes each misbehaviour to
// a file before it continues, and the harness reads the file. A requested misbehaviour
// without a record has shown nothing about containerd.
package proof

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
)

// Env is the environment variable with the path of the file. Without it nothing is
// recorded.
const Env = "SHIMQUAKE_FAKESHIM_PROOF"

// Note records that the shim misbehaves now, as the word with that key (package
// behaviour) requests. It returns when the record is in the file, which a SIGKILL of the
// shim does not undo.
func Note(key, format string, args ...any) error {
	path := os.Getenv(Env)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note a misbehaviour: %w", err)
	}
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	_, err = f.WriteString(key + " " + text + "\n") // one write: several shims share the file
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note a misbehaviour: %w", err)
	}
	return nil
}

// Status returns the exit status to report, as in behaviour.Behaviour. It records a wrong
// one before it is reported.
func Status(b behaviour.Behaviour, in behaviour.Report, real uint32) (uint32, error) {
	reported := b.Status(in, real)
	if reported == real {
		return reported, nil
	}
	return reported, Note(string(in), "reported %d in place of %d", reported, real)
}

// Parse parses the content of the file of Env, by key, in order.
func Parse(text []byte) (map[string][]string, error) {
	notes := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		key, note, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("%q is no note of a fake shim", line)
		}
		notes[key] = append(notes[key], note)
	}
	return notes, nil
}
