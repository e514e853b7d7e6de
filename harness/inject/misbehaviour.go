package inject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/proof"
)

// misbehaviour is a misbehaviour of the fake shim. Like a fault of a plan, it needs a
// proof. The shim therefore writes a note to a file each time it misbehaves (package
// proof).
type misbehaviour struct {
	in   *Injector
	word string
}

// Env returns the environment variables with the fake shim's misbehaviours and the path
// for its notes.
func Env(c harness.Case, w *world.World) []string {
	return []string{behaviour.Env + "=" + strings.Join(c.Misbehaviours(), ","), proof.Env + "=" + proofFile(w)}
}

// proofFile returns the path of the file with the notes. It is the same inside and
// outside of the world. The name ends in .log, so that the evidence has a copy.
func proofFile(w *world.World) string { return filepath.Join(w.Dir(), proofName) }

const proofName = "fakeshim-proof.log"

// maxNotes is the size limit of that file, in bytes. A note has some 60.
const maxNotes = 16 << 20

// Begin is never called, because the shim knows its misbehaviours from its start.
func (m *misbehaviour) Begin(context.Context) error { return nil }

// Proof counts the shim's notes.
func (m *misbehaviour) Proof(context.Context) (harness.Firing, error) {
	f := harness.Firing{Text: "fakeshim " + m.word, Proof: "did not happen"}
	text, err := m.in.World.Files().Read(proofName, maxNotes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // there is no file before the first note
		return f, fmt.Errorf("read the notes of the fake shim: %w", err)
	}
	notes, err := proof.Parse(text)
	if err != nil {
		return f, err
	}
	for _, k := range behaviour.Noted(m.word) {
		if n := len(notes[k]); n > 0 {
			f.Count += n
			f.Proof = fmt.Sprintf("happened %s, noted by the shim: %s: %s", times(f.Count), k, notes[k][0])
		}
	}
	return f, nil
}

// Undo has nothing to undo.
func (m *misbehaviour) Undo() error { return nil }
