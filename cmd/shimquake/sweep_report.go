package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shimquake/shimquake/sweep/journal"
)

func sweepReportCommand() *cobra.Command {
	f := sweepFlags{}
	cutting := f.cutting()
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Report what a sweep has found so far, also while it runs",
		Long: `Report says what a sweep's journal has, by today's catalogue, and runs nothing: what is gone was not
replayed. Of a sweep with --every-workload --hits path it says with --who, --actions, --path and --workload what one
with these flags would have said of the same traces, and with --cuts what each by one and by two of them would have.`,
		Example: `  shimquake sweep report out/sweep
  shimquake sweep report --who daemon --actions cancel out/sweep
  shimquake sweep report --cuts out/sweep`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			h, results, err := journal.Read(dirs[0])
			if err != nil {
				return err
			}
			chosen := false
			cutting.VisitAll(func(fl *pflag.Flag) { chosen = chosen || fl.Changed })
			if chosen {
				if h, results, err = journal.Cut(h, results, f.Options); err != nil {
					return sweepError(err)
				}
			}
			if f.cuts && !h.Plan.HasAllCuts() {
				return fmt.Errorf("--cuts: a sweep of %s does not have all: only one of --every-workload --hits path has",
					h.Plan.Options)
			}
			f.shards = dirs
			return f.report(cmd.Context(), nil, nil, h, results, cmd.OutOrStdout())
		},
	}
	c.Flags().AddFlagSet(cutting)
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object a cluster")
	c.Flags().BoolVar(&f.cuts, "cuts", false,
		"say what each cut by one of who, actions, path and workload, and by two, would have said, and fail as the worst")
	cutting.VisitAll(func(fl *pflag.Flag) { c.MarkFlagsMutuallyExclusive("cuts", fl.Name) })
	return c
}
