package quote

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON escapes JSON for a program that shows its strings to people. An unprintable
// character becomes the text of its escape: the program shows \u202e. The escapes of the
// JSON itself stay, such as \n for a new line.
func JSON(text []byte) []byte {
	shown := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if strconv.IsPrint(r) || r == '\n' || r == '\t' {
			shown = utf8.AppendRune(shown, r)
			continue
		}
		shown = append(shown, strings.ReplaceAll(string(appendEscape(nil, r)), `\`, `\\`)...)
	}
	return shown
}
