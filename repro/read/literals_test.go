package read

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLiterals(t *testing.T) {
	for pattern, want := range map[string][]string{
		`(?i)failed to load`:            {"failed to load"},
		`(?i)x.*(shim died|task)`:       {"shim died", "task"},
		`(?i)a|shim`:                    nil,
		`(?i)(shim)?`:                   nil,
		`(?i)(shim){2}\d`:               {"shim"},
		`(?i)\bnri\b.*(fail|error)`:     {"fail", "error"},
		`(?i)umount.{0,40}(slow|block)`: {"umount"},
	} {
		if got := literals(pattern); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	none := 0
	for _, of := range tellings {
		if len(of.literals) == 0 {
			none++
		}
	}
	if 4*none > len(tellings) {
		t.Errorf("%d of %d patterns have no literal to be looked for first", none, len(tellings))
	}
}

// No line of the samples is matched by a pattern whose literals it lacks.
func TestLiteralsHideNothing(t *testing.T) {
	files, err := filepath.Glob("../../fixtures/reports/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	n := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			for _, line := range []string{line, strings.ToUpper(line)} {
				for _, of := range tellings {
					if of.pattern.MatchString(line) != of.matches(line, strings.ToLower(line)) {
						t.Errorf("%s: %q is hidden from %s", name, line, of.pattern)
					}
					n++
				}
			}
		}
	}
	t.Logf("%d matches are the same", n)
}
