// Package quote shows text from outside: ids, names, logs, errors and files. They come
// from a node, a world (a throw-away node) or a history (the record of a run). Quoted
// text cannot move the cursor, end its line, forge a row or a link, or mention a
// person:
//
//   - [Line], [Block] and [Text] make lines of it, and [Terminal] is the writer for
//     people, which escapes the rest.
//   - [Error] is the text of an error, and [JSON] is for a page that decodes it.
//   - [Markdown], [Code] and [Fence] are for GitHub, [Path] is for an attribute of HTML.
package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// longest is the maximum number of bytes of a text that one line shows.
const longest = 8 << 10

// Line returns the text as one line without its line end. It escapes control characters,
// marks that change the direction of text, spaces other than ASCII's, and bytes that are
// not UTF-8. A longer text is cut, and the line says so.
func Line(text string) string {
	cut := ""
	if len(text) > longest {
		kept := longest
		for kept > longest-utf8.UTFMax && !utf8.RuneStart(text[kept]) {
			kept--
		}
		cut = fmt.Sprintf("... (%d bytes more)", len(text)-kept)
		text = text[:kept]
	}
	return escaped(text, "") + cut
}

// Block returns the text as lines without the end of the last. Each line after the first
// begins with the indent, so that none looks like a line of the program.
func Block(text, indent string) string {
	if !strings.Contains(text, "\n") {
		return Line(text)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = Line(l)
	}
	return strings.Join(lines, "\n"+indent)
}

// Text collects lines for people. Its zero value is empty.
type Text struct{ b strings.Builder }

// Line adds one line, whatever the arguments contain.
func (t *Text) Line(format string, args ...any) {
	t.b.WriteString(Line(fmt.Sprintf(format, args...)))
	t.b.WriteByte('\n')
}

// Block adds a text of several lines behind a head. The lines after the first are
// indented by the length of the head.
func (t *Text) Block(head, text string) {
	t.b.WriteString(Line(head))
	t.b.WriteString(Block(text, strings.Repeat(" ", utf8.RuneCountInString(head))))
	t.b.WriteByte('\n')
}

// String returns all lines.
func (t *Text) String() string { return t.b.String() }

// escaped returns the text with an escape for each rune that cannot be printed and is not
// in keep.
func escaped(text, keep string) string {
	first := 0
	for first < len(text) && (isPlain(text[first]) || strings.IndexByte(keep, text[first]) >= 0) {
		first++
	}
	if first == len(text) {
		return text
	}
	b := append(make([]byte, 0, len(text)+16), text[:first]...)
	for rest := text[first:]; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			b = fmt.Appendf(b, `\x%02x`, rest[0])
		case strconv.IsPrint(r) || strings.ContainsRune(keep, r):
			b = append(b, rest[:size]...)
		default:
			b = appendEscape(b, r)
		}
		rest = rest[size:]
	}
	return string(b)
}

func isPlain(b byte) bool { return b >= ' ' && b < 0x7f }

// appendEscape adds an escape that is also one of JSON: an object stays the same object.
func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Appendf(b, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}
