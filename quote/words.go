package quote

import (
	"fmt"
	"strings"
)

// Cut returns the beginning of a text that is longer than a number of bytes, and else the
// text.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// Count returns a number with a noun: "1 case", "3 cases".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
