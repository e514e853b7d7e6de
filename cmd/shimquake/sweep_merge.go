package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
)

func sweepMergeCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Merge the shards of one plan into one report",
		Long: `Merge prints the report that one machine would have printed. It minimises new clusters. If a shard is
missing or incomplete, it names the shard and reports nothing.

Exit status: that of the whole sweep; 2 folders that are not shards of one plan, 3 a lost shard.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := f.readBaseline(); err != nil {
				return err
			}
			f.shards = dirs
			h, results, err := journal.Merge(dirs)
			if err == nil {
				err = h.CheckSweep(dirs[0])
			}
			if err != nil {
				return mergeError(err)
			}
			r := f.runner()
			return f.report(cmd.Context(), r, f.minimiser(engine.New(r, f.parallel)), h, results, cmd.OutOrStdout())
		},
	}
	f.registerCommon(c)
	return c
}

// mergeError gives an error of a merge its exit status: invalid for a lost shard, and
// usage for all other errors.
func mergeError(err error) error {
	if errors.As(err, new(*journal.LostError)) {
		return statusError{statusInvalid, err}
	}
	return err
}
