package inventory

import "strings"

// Places are the directories of containerd that differ between scenes.
type Places struct {
	Root  string `json:"root,omitempty"`
	State string `json:"state,omitempty"`
}

// Their placeholders at the beginning of compared paths.
const (
	RootWord  = "ROOT"
	stateWord = "STATE"
)

// Name replaces the place in a path by its placeholder:
// ROOT/io.containerd.metadata.v1.bolt
func (p Places) Name(file string) string {
	for _, place := range []struct{ dir, word string }{{p.Root, RootWord}, {p.State, stateWord}} {
		if rest, ok := strings.CutPrefix(file, place.dir); ok && place.dir != "" && (rest == "" || rest[0] == '/') {
			return place.word + rest
		}
	}
	return file
}
