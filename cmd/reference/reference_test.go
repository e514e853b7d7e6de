package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shimquake/shimquake/must"
)

const checkout = "../.."

// TestReferenceIsFresh compares docs/reference.md with the code.
func TestReferenceIsFresh(t *testing.T) {
	want := must.Get(page(checkout))(t)
	have, err := os.ReadFile(checkout + "/docs/reference.md")
	if d := cmp.Diff(want, string(have)); err != nil || d != "" {
		t.Errorf("run make docs (-code +page): %v\n%s", err, d)
	}
}

// TestEveryRowHasAMeaning finds keys, rules and facts without a comment, by their empty
// cells.
func TestEveryRowHasAMeaning(t *testing.T) {
	text := must.Get(page(checkout))(t)
	rows, meaning := 0, 0
	head := ""
	for line := range strings.Lines(text) {
		switch {
		case line == "\n":
			meaning = 0
		case strings.HasPrefix(line, "---|"): // rows follow
			meaning = 1
			if strings.HasPrefix(head, "key |") { // the value of a key comes first
				meaning = 2
			}
		case meaning > 0:
			rows++
			if cells := strings.Split(line, " | "); len(cells) <= meaning || strings.TrimSpace(cells[meaning]) == "" {
				t.Errorf("no comment says what this is: %s", line)
			}
		}
		head = line
	}
	if rows < 130 {
		t.Errorf("only %d rows", rows)
	}
}

func TestSentences(t *testing.T) {
	for comment, want := range map[string][]string{
		"":                             nil,
		"One.":                         {"One"},
		"One\nline. Two lines.":        {"One line", "Two lines"},
		"A pid of v2.4.2. Default: 1.": {"A pid of v2.4.2", "Default: 1"},
		"It ends, e.g. by itself":      {"It ends, e.g. by itself"},
	} {
		if d := cmp.Diff(want, sentences(comment)); d != "" {
			t.Errorf("%q (-want +got):\n%s", comment, d)
		}
	}
}
