package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/spelling"
)

func listCommand() *cobra.Command {
	what := []string{"bugs", "cases", "points", "versions"}
	var points pointsQuery
	c := &cobra.Command{
		Use:       "list bugs|cases|points|versions",
		Short:     "List bugs, cases, points or versions",
		ValidArgs: what,
		Args:      cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "points" {
				if err := points.refuse(cmd, args[0]); err != nil {
					return err
				}
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			switch args[0] {
			case "cases":
				for _, b := range catalogue.Bugs() {
					for _, c := range b.Cases {
						fmt.Fprintf(w, "%s\t%s\n", c.Name, aboutCase(c, b))
					}
				}
				for _, c := range plain.Cases() {
					fmt.Fprintf(w, "%s\twithout a fault\n", c.Name)
				}
			case "bugs":
				return listBugs(cmd.OutOrStdout(), points.containerd)
			case "points":
				if err := points.list(cmd, w); err != nil {
					return err
				}
			case "versions":
				if err := listVersions(cmd, w); err != nil {
					return err
				}
			default:
				return spelling.Unknown("list", args[0], what)
			}
			return w.Flush()
		},
	}
	points.flags(c)
	return c
}

// maxAbout is the maximum width of a title in columns.
const maxAbout = 62

// aboutCase returns the title of a case's bug. It adds the bug's id if that is not the
// name of the case.
func aboutCase(c harness.Case, b catalogue.Bug) string {
	text := b.Title
	if b.ID != c.Name {
		text = b.ID + ": " + text
	}
	if all := []rune(text); len(all) > maxAbout {
		text = string(all[:maxAbout-3]) + "..."
	}
	return text
}
