package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/sweep/journal"
)

func sweepMergeCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the shards of one plan together, and report as one machine would have",
		Long: `Merge puts the shards of one plan together. New clusters are minimised here. Where a shard is missing,
or was ended before all its cases had run, it names them and reports nothing.

Exit status: as that of the whole sweep; 2 folders that are no shards of one plan, 3 a shard that is lost.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if err := f.check(); err != nil {
				return err
			}
			f.shards = dirs
			h, results, err := journal.Merge(dirs)
			if err != nil {
				return mergeError(err)
			}
			return f.report(cmd.Context(), f.runner(), nil, h, results, cmd.OutOrStdout())
		},
	}
	f.registerCommon(c)
	return c
}

// mergeError gives an error of a merge its exit status: a lost shard shows nothing, all
// else is bad input.
func mergeError(err error) error {
	var lost *journal.LostError
	if errors.As(err, &lost) {
		return statusError{statusInvalid, err}
	}
	return err
}
