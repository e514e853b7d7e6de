// Command historyschema prints docs/history.schema.json: the JSON Schema of a kept
// history, made from the types and their doc comments.
package main

import (
	"fmt"
	"os"
)

func main() {
	text, err := schema(".")
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "historyschema:", err)
		os.Exit(1)
	}
}
