package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Place is where a statement stands in containerd's source. Its text form is FILE:LINE,
// as editors write it; that of no place, a method of ttrpc, is empty.
type Place struct {
	File string
	Line int
}

func (p Place) String() string {
	if p == (Place{}) {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Compare orders places by file and line.
func (p Place) Compare(q Place) int {
	return cmp.Or(strings.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line))
}

// MarshalText is the text form, for JSON.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads it.
func (p *Place) UnmarshalText(text []byte) error {
	file, digits, ok := strings.Cut(string(text), ":")
	line, err := strconv.Atoi(digits)
	if !ok || err != nil || file == "" || line < 1 {
		return fmt.Errorf("place %q: want FILE:LINE", text)
	}
	*p = Place{file, line}
	return nil
}
