// Command historypage prints docs/history.md: the JSON form of a kept history, made from
// the types and their comments.
package main

import (
	"fmt"
	"os"
)

func main() {
	text, err := page(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "historypage:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}
