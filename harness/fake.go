package harness

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/met"
)

// A misbehaviour of the fake shim is a fault like those of the plan: it must prove that it was met, or the verdict is invalid. The shim notes
// each in a file of the world before it goes on (package met).

// fakeshimEnv tells the fake shim how to misbehave, and where to note that it did.
func (x *experiment) fakeshimEnv() []string {
	return []string{behaviour.Env + "=" + x.fakeshimWords(), met.Env + "=" + x.metFile()}
}

// metFile is in the world's folder, by the same name inside and outside; as a log it is part of the evidence.
func (x *experiment) metFile() string { return filepath.Join(x.world.Dir(), "fakeshim-met.log") }

// words are the misbehaviours that the fake shim is asked for, one by one.
func (c Case) words() []string {
	if c.fakeshimWords() == "" {
		return nil
	}
	words := strings.Split(c.fakeshimWords(), ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// faultless says that nothing is to be broken: the case must go as a plain lifecycle does.
func (c Case) faultless() bool { return len(c.Plan) == 0 && len(c.words()) == 0 }

// misbehaved says for each word whether the fake shim did so.
func (x *experiment) misbehaved() ([]Firing, error) {
	words := x.words()
	if len(words) == 0 {
		return nil, nil
	}
	notes, err := met.Read(x.metFile())
	if err != nil {
		return nil, err
	}
	firings := make([]Firing, len(words))
	for i, word := range words {
		key, _, _ := strings.Cut(word, "=")
		firings[i] = Firing{Text: "fakeshim " + word, Proof: "was not met"}
		for _, k := range behaviour.Noted(key) {
			if n := len(notes[k]); n > 0 {
				firings[i].Count += n
				firings[i].Proof = fmt.Sprintf("met %d times, noted by the shim: %s: %s", firings[i].Count, k, notes[k][0])
			}
		}
	}
	return firings, nil
}

// anyMisbehaved says whether the fake shim has misbehaved yet.
func (x *experiment) anyMisbehaved() bool {
	firings, err := x.misbehaved()
	if err != nil {
		x.invalid(err)
	}
	for _, f := range firings {
		if f.Count > 0 {
			return true
		}
	}
	return false
}
