package main

import (
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
replayed. With --who, --actions, --path and --workload it says what a sweep with these flags would have said, as
far as its cases have been run: of a sweep with --every-workload --hits path that is all of them.`,
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
			f.shards = dirs
			return f.report(cmd.Context(), nil, nil, h, results, cmd.OutOrStdout())
		},
	}
	c.Flags().AddFlagSet(cutting)
	f.registerReport(c)
	return c
}
