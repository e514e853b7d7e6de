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

// misbehaviour is one of the fake shim. It is a fault like those of a plan: it must prove
// that it was met. The shim notes each in a file of the world before it goes on (package
// met).
type misbehaviour struct {
	in   *Injector
	word string
}

// Env tells the fake shim how to misbehave, and where to note that it did.
func Env(c harness.Case, w *world.World) []string {
	return []string{behaviour.Env + "=" + strings.Join(c.Misbehaviours(), ","), proof.Env + "=" + proofFile(w)}
}

// proofFile is in the world's folder, by the same name inside and outside; as a log it is
// part of the evidence.
func proofFile(w *world.World) string { return filepath.Join(w.Dir(), proofName) }

const proofName = "fakeshim-proof.log"

// mostNotes is how long that file may be, in bytes. A note has some 60.
const mostNotes = 16 << 20

// Begin is never called: the shim knows from its start.
func (m *misbehaviour) Begin(context.Context) error { return nil }

// Proof is the shim's own note.
func (m *misbehaviour) Proof(context.Context) (harness.Firing, error) {
	f := harness.Firing{Text: "fakeshim " + m.word, Proof: "was not met"}
	text, err := m.in.World.Files().Read(proofName, mostNotes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a shim that met nothing makes no file
		return f, fmt.Errorf("read the notes of the fake shim: %w", err)
	}
	notes, err := proof.Parse(text)
	if err != nil {
		return f, err
	}
	for _, k := range behaviour.Noted(m.word) {
		if n := len(notes[k]); n > 0 {
			f.Count += n
			f.Proof = fmt.Sprintf("met %d times, noted by the shim: %s: %s", f.Count, k, notes[k][0])
		}
	}
	return f, nil
}

// Undo has nothing to undo.
func (m *misbehaviour) Undo() error { return nil }
