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
		Short: "Print the cases on which two sweeps of one plan differ",
		Long: `Compare compares the verdict and the findings of each case in sweep A with the same case in sweep B,
without ids, pids and times. The shards of B may be in several folders. It compares machines, kernels
or versions of Shimquake.
A known race, or another place in the window of a known bug, gets a line and is no difference. Invalid
cases on one side are no difference either, up to a tenth of all cases.

Exit status: 0 no differences, 1 a case differs, 2 there is nothing to compare.`,
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
