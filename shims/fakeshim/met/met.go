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

// Read returns what was noted, by key, in order. A file that nobody has written to says
// that nothing was met.
func Read(path string) (map[string][]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the fake shim met: %w", err)
	}
	notes := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		key, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("%s: %q is no note of a fake shim", path, line)
		}
		notes[key] = append(notes[key], text)
	}
	return notes, nil
}
