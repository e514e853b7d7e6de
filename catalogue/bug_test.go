package catalogue

import "testing"

func TestBugs(t *testing.T) {
	for _, b := range Bugs() {
		t.Logf("%s: %s: %s", b.ID, b.Title, b.Releases)
	}
}
