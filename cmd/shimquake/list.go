package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
)

func listCommand() *cobra.Command {
	what := []string{"bugs", "cases", "findings", "points", "versions"}
	var points pointsQuery
	c := &cobra.Command{
		Use:       "list bugs|cases|findings|points|versions",
		Short:     "List what there is",
		ValidArgs: what,
		Args:      cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "points" {
				if err := points.refuse(cmd); err != nil {
					return err
				}
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			switch args[0] {
			case "cases":
				for _, c := range catalogue.Cases() {
					fmt.Fprintf(w, "%s\t%s\n", c.Name, c.About)
				}
			case "bugs":
				for _, c := range catalogue.Cases() {
					for _, b := range c.Bad {
						fmt.Fprintf(w, "%s\t%s\t%s\n", b.Issue, b.Releases, c.Name)
					}
				}
			case "findings":
				for _, f := range catalogue.Findings() {
					issue := "no issue known"
					if f.Issue > 0 {
						issue = fmt.Sprintf("containerd#%d", f.Issue)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.ID, f.Releases, issue, f.About)
				}
			case "points":
				if err := points.list(cmd, w); err != nil {
					return err
				}
			case "versions":
				if err := listVersions(cmd, w); err != nil {
					return err
				}
			default:
				return &failpoints.UnknownError{
					What:    "list",
					Name:    args[0],
					Nearest: failpoints.Nearest(args[0], what),
					Known:   what,
				}
			}
			return w.Flush()
		},
	}
	points.flags(c)
	return c
}
