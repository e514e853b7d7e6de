package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Place is a statement's line in containerd's source. Its text form is FILE:LINE, as
// editors write it. The zero value stands for a method of ttrpc, and has an empty text.
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

// MarshalText returns the text form, for JSON.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the text form.
func (p *Place) UnmarshalText(text []byte) error {
	file, digits, ok := strings.Cut(string(text), ":")
	line, err := strconv.Atoi(digits)
	if !ok || err != nil || file == "" || line < 1 {
		return fmt.Errorf("place %q: want FILE:LINE", text)
	}
	*p = Place{file, line}
	return nil
}
