package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/report"
)

func reportCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "report EVIDENCE...",
		Short: "Make report.html of kept histories, or of a sweep's folder",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, words []string) error {
			d := report.Data{Title: "report", Made: time.Now()}
			var kept []harness.Kept
			for _, w := range words {
				err := eachKept(w, nil, func(k harness.Kept) error { kept = append(kept, k); return nil })
				if err != nil {
					return err
				}
			}
			d.Without = map[string]harness.Verdict{}
			d.Cases = func(yield func(report.Case, error) bool) {
				for n, k := range kept {
					v := judge.Judge(k.History)
					c := report.Case{ID: fmt.Sprintf("case-%d", n+1), Verdict: v}
					if v.Case.Faultless() {
						d.Without["x"] = v
					}
					c.Without = "x"
					if !yield(c, nil) {
						return
					}
				}
			}
			for _, k := range kept {
				if v := judge.Judge(k.History); v.Case.Faultless() {
					d.Without["x"] = v
				}
			}
			return report.Write(filepath.Clean(out), d)
		},
	}
	c.Flags().StringVar(&out, "out", "out", "folder for the report")
	return c
}
