package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/quote"
)

func gcCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "Undo what killed runs have left: throttles, cgroups, folders",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := world.Check(); err != nil {
				return statusError{statusInvalid, err}
			}
			all, err := world.GC(cmd.Context())
			for _, c := range all {
				for _, u := range c.Undone {
					fmt.Fprintf(cmd.OutOrStdout(), "world %s: removed %s\n", quote.Line(c.World), quote.Line(u))
				}
			}
			if err == nil && len(all) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing was left")
			}
			if errors.As(err, new(*world.StuckError)) {
				return statusError{statusInvalid, err}
			}
			return err
		},
	}
}
