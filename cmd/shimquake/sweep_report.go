package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/triage"
)

func sweepReportCommand() *cobra.Command {
	f := sweepFlags{}
	cutting, cuts := f.cutting(), false
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
			if cuts {
				return reportCuts(cmd.OutOrStdout(), h, results)
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
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object a cluster")
	c.Flags().BoolVar(&cuts, "cuts", false,
		"say what each cut by one of who, actions, path and workload, and by two, would have said")
	c.MarkFlagsMutuallyExclusive("cuts", "json")
	cutting.VisitAll(func(fl *pflag.Flag) { c.MarkFlagsMutuallyExclusive("cuts", fl.Name) })
	return c
}

// reportCuts prints a line for each cut of a sweep that would not have ended with 0, and
// how many there are. The exit status is the worst of theirs.
func reportCuts(out io.Writer, h journal.Head, all []journal.Result) error {
	counts, worst := map[int]int{}, statusHeld
	cuts := h.Plan.Cuts()
	for _, o := range cuts {
		cut, results, err := journal.Cut(h, all, o)
		if err != nil {
			return sweepError(err)
		}
		r := triage.NewReport(cut, results, catalogue.Excuses())
		status := r.Status()
		counts[status]++
		if status == statusHeld {
			continue
		}
		if worst != statusViolated {
			worst = status
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", o.Chosen(), r.Line()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d cuts: %d have nothing new and nothing gone, %d have, %d show too little\n",
		len(cuts), counts[statusHeld], counts[statusViolated], counts[statusInvalid])
	if err == nil && worst != statusHeld {
		err = statusError{status: worst}
	}
	return err
}
