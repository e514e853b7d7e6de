package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/sweep/triage"
)

func sweepCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B...",
		Short: "Tell of which cases two sweeps of one plan say different things",
		Long: `Compare puts the cases of sweep A beside the same cases of sweep B, whose shards may be in
several folders: of each its verdict and what was found, without ids, pids and times.
So a machine, a kernel or a change of Shimquake can be compared with another.
What a known bug leaves by luck (a race, or a place in its window that is not its own case)
is reported in a line, and makes no difference. Nor do cases that show nothing on one side, as
long as they are a tenth or less.

Exit status: 0 they agree, 1 some case differs, 2 there is nothing to compare.`,
		Example: `  shimquake sweep --plan-only >plan.json
  shimquake sweep --plan plan.json --shard 1/10 --out v1     # here
  shimquake sweep --plan plan.json --shard 1/10 --out v2     # on another machine
  shimquake sweep compare v1 v2`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			c, err := triage.Compare(dirs[0], dirs[1:], catalogue.Excuses())
			if err != nil {
				return err
			}
			if _, err := fmt.Fprint(cmd.OutOrStdout(), c); err != nil {
				return err
			}
			if !c.Agree() {
				return statusError{status: statusViolated}
			}
			return nil
		},
	}
}
