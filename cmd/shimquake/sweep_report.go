package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/sweep/journal"
)

func sweepReportCommand() *cobra.Command {
	f := sweepFlags{}
	c := &cobra.Command{
		Use:     "report DIR",
		Short:   "Report the findings of a sweep so far, also while it runs",
		Long:    `Report prints the results in a sweep's journal, by today's catalogue. It runs nothing.`,
		Example: `  shimquake sweep report out/sweep`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			h, results, err := journal.Read(dirs[0])
			if err = errors.Join(err, h.CheckSweep(dirs[0])); err == nil {
				err = f.readBaseline()
			}
			if err != nil {
				return err
			}
			next := step{self() + " report --out " + dirs[0] + " " + dirs[0], "the page so far"} // the sweep may still run
			return f.print(f.triage(h, results), cmd.OutOrStdout(), next)
		},
	}
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object per cluster")
	f.registerBaseline(c)
	return c
}
