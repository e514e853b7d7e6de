package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/page"
)

// listBugs writes a line for each bug; of those that a release has where one is named.
func listBugs(out io.Writer, release string) error {
	bugs := catalogue.BySeverity()
	if release != "" {
		if !semver.IsValid(release) {
			return fmt.Errorf("release %q: a version is needed, such as v2.4.2", release)
		}
		bugs = slices.DeleteFunc(bugs, func(b catalogue.Bug) bool { return !b.Applies(release) })
	}
	_, err := fmt.Fprint(out, page.List(bugs))
	return err
}

func showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show BUG...",
		Short: "Tell all that is known of a bug: its id, an issue's number, or one of its cases",
		Example: `  shimquake show containerd-8981
  shimquake show 7496`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			for i, w := range words {
				b, err := catalogue.FindBug(w)
				if err != nil {
					return err
				}
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				fmt.Fprint(cmd.OutOrStdout(), page.Text(b))
			}
			return nil
		},
	}
}
