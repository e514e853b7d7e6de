package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/shimquake/shimquake/harness"
)

// coloured is text with its first word in the colour of a verdict, where out is a
// terminal and NO_COLOR is not set (no-color.org).
func coloured(out io.Writer, o harness.Outcome, text string) string {
	f, isFile := out.(*os.File)
	if !isFile || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return text
	}
	code := map[harness.Outcome]string{harness.Held: "32", harness.Violated: "1;31", harness.Invalid: "33"}[o]
	rest, ok := strings.CutPrefix(text, string(o))
	if !ok || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + string(o) + "\x1b[0m" + rest
}
