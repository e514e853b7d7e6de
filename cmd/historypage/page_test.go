package main

import (
	"os"
	"strings"
	"testing"
)

// TestPageIsFresh holds docs/history.md against the types, and each of its types against
// a comment of its own.
func TestPageIsFresh(t *testing.T) {
	want, err := page("../..")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../docs/history.md")
	if err != nil || string(have) != want {
		t.Errorf("docs/history.md is not what the types say (%v): run make docs", err)
	}
	for _, part := range strings.Split(want, "\n## ")[1:] {
		name, rest, _ := strings.Cut(part, "\n\n")
		if strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "|") {
			t.Errorf("nothing is said of %s", name)
		}
	}
}
