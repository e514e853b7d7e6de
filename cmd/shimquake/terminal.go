package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
)

// stderr escapes control characters in messages, because messages quote texts of other
// people. All writes to os.Stderr must use it.
var stderr = quote.NewTerminal(os.Stderr) //nolint:forbidigo // the one place

// printResult prints a result as one JSON object, or else as text.
func printResult(out io.Writer, asJSON bool, result any) error {
	if asJSON {
		return json.NewEncoder(out).Encode(result)
	}
	_, err := fmt.Fprint(out, result)
	return err
}

// printVerdict prints a verdict. Its first word has the colour of the outcome if out is a
// terminal and NO_COLOR is not set (no-color.org).
func printVerdict(out io.Writer, asJSON bool, v harness.Verdict) error {
	if asJSON {
		return printResult(out, true, v)
	}
	text := v.String()
	colour := map[harness.Outcome]string{harness.Held: "32", harness.Violated: "1;31", harness.Invalid: "33"}[v.Outcome]
	rest, ok := strings.CutPrefix(text, string(v.Outcome))
	if t := terminal(out); t != nil && ok && colour != "" {
		if err := t.Paint(colour, string(v.Outcome)); err != nil {
			return err
		}
		text = rest
	}
	_, err := io.WriteString(out, text)
	return err
}

// terminal returns out if it is a terminal that may have colours, or nil.
func terminal(out io.Writer) *quote.Terminal {
	t, ok := out.(*quote.Terminal)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return nil
	}
	if f, ok := t.Unwrap().(interface{ Fd() uintptr }); !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return t
}
