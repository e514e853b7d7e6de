package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/filing"
	"github.com/shimquake/shimquake/catalogue/page"
	"github.com/shimquake/shimquake/oracle/affected"
)

// listBugs writes a line for each bug. With a release, it writes the known bugs of that
// release, and then the bugs that are untested on it.
func listBugs(out io.Writer, release string) error {
	bugs := catalogue.BySeverity()
	if release == "" {
		_, err := fmt.Fprint(out, page.List(bugs))
		return err
	}
	if !semver.IsValid(release) {
		return fmt.Errorf("%q is not a release: name one such as v2.4.2", release)
	}
	in := func(s affected.State) []catalogue.Bug {
		return slices.DeleteFunc(slices.Clone(bugs), func(b catalogue.Bug) bool { return b.StateOf(release) != s })
	}
	text := page.List(in(affected.Bad))
	if may := in(affected.Unknown); len(may) > 0 {
		text += fmt.Sprintf("\n%s may also have these bugs. It is untested, or their cases do not run there:\n%s",
			release, page.List(may))
	}
	_, err := fmt.Fprint(out, text)
	return err
}

func showCommand() *cobra.Command {
	var issue bool
	c := &cobra.Command{
		Use:   "show BUG...",
		Short: "Print everything about a bug, named by its id, an issue number or one of its cases",
		Example: `  shimquake show containerd-8981
  shimquake show 7496
  shimquake show --issue created-task-not-cleaned   # the text of an upstream issue, in Markdown`,
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
				text := page.Text(b)
				if issue {
					f, r, err := filing.Of(b)
					if err != nil {
						return err
					}
					if text, err = filing.Text(f, r); err != nil {
						return err
					}
				}
				fmt.Fprint(cmd.OutOrStdout(), text)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&issue, "issue", false, "print the text of an upstream issue, by containerd's template")
	return c
}
