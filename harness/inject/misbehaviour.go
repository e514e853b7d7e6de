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

// misbehaviour is a misbehaviour of the fake shim. Like a fault of a plan, it must
// prove that it happened. The shim notes each in a file of the world before it
// continues (package proof).
type misbehaviour struct {
	in   *Injector
	word string
}

// Env returns the variables that name the fake shim's misbehaviours and the file for its
// notes.
func Env(c harness.Case, w *world.World) []string {
	return []string{behaviour.Env + "=" + strings.Join(c.Misbehaviours(), ","), proof.Env + "=" + proofFile(w)}
}

// proofFile returns the path of the notes, in the world's folder, which has the same name
// inside and outside. The file ends in .log, so that it is part of the evidence.
func proofFile(w *world.World) string { return filepath.Join(w.Dir(), proofName) }

const proofName = "fakeshim-proof.log"

// mostNotes limits the size of that file, in bytes. A note has some 60.
const mostNotes = 16 << 20

// Begin is never called, because the shim knows its misbehaviours from its start.
func (m *misbehaviour) Begin(context.Context) error { return nil }

// Proof returns the shim's own notes.
func (m *misbehaviour) Proof(context.Context) (harness.Firing, error) {
	f := harness.Firing{Text: "fakeshim " + m.word, Proof: "did not happen"}
	text, err := m.in.World.Files().Read(proofName, mostNotes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a shim without a note creates no file
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
