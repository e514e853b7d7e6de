package inventory

import "strings"

// Places are those directories of containerd that differ between scenes.
type Places struct {
	Root  string `json:"root,omitempty"`
	State string `json:"state,omitempty"`
}

// The words for them at the beginning of a path that is compared.
const (
	RootWord  = "ROOT"
	stateWord = "STATE"
)

// Name gives a path below one of the places its word: ROOT/io.containerd.metadata.v1.bolt
func (p Places) Name(file string) string {
	for _, place := range []struct{ dir, word string }{{p.Root, RootWord}, {p.State, stateWord}} {
		if rest, ok := strings.CutPrefix(file, place.dir); ok && place.dir != "" && (rest == "" || rest[0] == '/') {
			return place.word + rest
		}
	}
	return file
}
