package plan

import "testing"

func TestPlacesComeBack(t *testing.T) {
	for text, ok := range map[string]bool{
		"core/runtime/v2/binary.go:41": true, "a.go:1": true, "": false, "a.go": false, "a.go:": false, ":3": false,
		"a.go:0": false, "a.go:x": false,
	} {
		var p Place
		if err := p.UnmarshalText([]byte(text)); (err == nil) != ok || ok && p.String() != text {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
}

func TestPlacesAreOrderedByLine(t *testing.T) {
	if a, b := (Place{"a.go", 9}), (Place{"a.go", 10}); a.Compare(b) >= 0 || b.Compare(a) <= 0 || a.Compare(a) != 0 {
		t.Error("line 9 is not before line 10")
	}
}
