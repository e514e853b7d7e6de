package inventory

import "strings"

// Places are the directories of containerd that differ between scenes.
type Places struct {
	Root  string `json:"root,omitempty"`
	State string `json:"state,omitempty"`
}

// The placeholders for these directories in paths that are compared.
const (
	RootWord  = "ROOT"
	stateWord = "STATE"
)

// Name replaces containerd's directory in a path by its placeholder:
// ROOT/io.containerd.metadata.v1.bolt
func (p Places) Name(file string) string {
	for _, place := range []struct{ dir, word string }{{p.Root, RootWord}, {p.State, stateWord}} {
		if rest, ok := strings.CutPrefix(file, place.dir); ok && place.dir != "" && (rest == "" || rest[0] == '/') {
			return place.word + rest
		}
	}
	return file
}
