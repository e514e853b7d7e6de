// Command nightly opens an issue for each new finding of a nightly run. See
// docs/nightly.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/quote"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	c := root()
	c.SetOut(quote.NewTerminal(os.Stdout))
	err := c.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(quote.NewTerminal(os.Stderr), "nightly:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	c := &cobra.Command{Use: "nightly", Short: "Issues for findings", SilenceErrors: true, SilenceUsage: true}
	c.AddCommand(issuesCommand())
	return c
}
