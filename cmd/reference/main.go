// Command reference prints docs/reference.md: the keys of a case, the verbs of a
// script, the rules, the facts of findings and the exit statuses. It makes the tables
// from the code and from its doc comments.
package main

import (
	"fmt"
	"os"
)

func main() {
	text, err := page(".")
	if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}
