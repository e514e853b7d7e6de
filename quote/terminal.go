package quote

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Terminal is a writer for people: a terminal, or a file that is shown on one. It escapes
// all that cannot be printed, except for newlines and tabs. Only Paint writes other
// control characters.
type Terminal struct {
	to io.Writer

	mu   sync.Mutex
	torn []byte // the beginning of a rune whose end has not been written yet
}

// NewTerminal returns a Terminal that writes to another writer.
func NewTerminal(to io.Writer) *Terminal { return &Terminal{to: to} }

// Unwrap returns the writer beneath, to ask whether it is a terminal.
func (t *Terminal) Unwrap() io.Writer { return t.to }

// Write writes the text escaped. It returns the length of the text without the escapes. A
// rune may come in two writes.
func (t *Terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole := append(t.torn, text...)
	end := wholeRunes(whole)
	t.torn = append([]byte(nil), whole[end:]...)
	if _, err := io.WriteString(t.to, escaped(string(whole[:end]), "\n\t")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Paint writes the text escaped in a colour of the program: a number of SGR, such as
// "1;31" for bold red.
func (t *Terminal) Paint(colour, text string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := io.WriteString(t.to, "\x1b["+colour+"m"+escaped(text, "\n\t")+"\x1b[0m")
	return err
}

// wholeRunes returns the length of the text without a rune at its end that is not whole.
func wholeRunes(text []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if b := text[len(text)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-i:]) {
				return len(text) - i
			}
			break
		}
	}
	return len(text)
}
