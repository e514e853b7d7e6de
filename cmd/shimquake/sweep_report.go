package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shimquake/shimquake/sweep/journal"
)

func sweepReportCommand() *cobra.Command {
	f := sweepFlags{}
	cuts := cutting(&f.Options)
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Report the findings of a sweep so far, also while it runs",
		Long: `Report prints the results in a sweep's journal, by today's catalogue. It runs nothing, so gone findings are
not replayed. A sweep with --every-workload --hits path contains smaller sweeps. --who, --actions, --path and
--workload choose one of them, and --cuts prints all of them by one or two of these flags.`,
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
			cuts.VisitAll(func(fl *pflag.Flag) { chosen = chosen || fl.Changed })
			if chosen {
				if h, results, err = journal.Cut(h, results, f.Options); err != nil {
					return sweepError(err)
				}
			}
			if f.cuts && !h.Plan.HasAllCuts() {
				return fmt.Errorf("--cuts needs a sweep of every workload and path, and this sweep has the options %s: "+
					"sweep with --every-workload --hits path",
					h.Plan.Options)
			}
			f.shards = dirs
			return f.report(cmd.Context(), nil, nil, h, results, cmd.OutOrStdout())
		},
	}
	c.Flags().AddFlagSet(cuts)
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object per cluster")
	c.Flags().BoolVar(&f.cuts, "cuts", false,
		"print the result of each part of the sweep that one or two of --who, --actions, --path and --workload select; "+
			"the exit status is that of the worst part")
	cuts.VisitAll(func(fl *pflag.Flag) { c.MarkFlagsMutuallyExclusive("cuts", fl.Name) })
	return c
}
