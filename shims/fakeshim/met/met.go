// Package met is the proof that a fake shim misbehaved: whenever it does, it notes so in
// a file before it goes on, and whoever asked for the misbehaviour reads there that it
// was met. A word that was asked for and never met has shown nothing about containerd.
package met

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
)

// Env is the environment variable that names the file. Without it nothing is noted.
const Env = "SHIMQUAKE_FAKESHIM_MET"

// Note says that the shim misbehaves now, as the word of that key (package behaviour)
// asked it to. It returns when the note is in the file, which a SIGKILL of the shim does
// not undo.
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
	_, err = f.WriteString(key + " " + text + "\n") // one write: shims of several containers share the file
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note a misbehaviour: %w", err)
	}
	return nil
}

// Status is the exit status to report, as behaviour.Behaviour has it; a wrong one is
// noted before anybody hears of it.
func Status(b behaviour.Behaviour, in behaviour.Report, real uint32) (uint32, error) {
	reported := b.Status(in, real)
	if reported == real {
		return reported, nil
	}
	return reported, Note(string(in), "reported %d in place of %d", reported, real)
}

// Parse returns the content of the file that Env named, by key, in order.
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
