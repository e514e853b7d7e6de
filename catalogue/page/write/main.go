// Command write makes docs/bugs/ and README's table of bugs anew: `make docs`.
package main

import (
	"fmt"
	"os"

	"github.com/shimquake/shimquake/catalogue/page"
)

func main() {
	if err := page.Write("."); err != nil {
		fmt.Fprintln(os.Stderr, "make docs:", err)
		os.Exit(1)
	}
}
