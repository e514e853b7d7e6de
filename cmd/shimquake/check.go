package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/harness/runner"
)

func checkCommand() *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Print what this machine lacks for some cases, and how to fix it",
		Long: `Check lists the kinds of cases that this machine cannot run, with reasons and advice. The verdicts of such
cases are invalid, and their specs are skipped.

Exit status: 0; with --strict 3 if the machine lacks something.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tellLacks(cmd.OutOrStdout(), runner.Lacks(), strict)
		},
	}
	c.Flags().BoolVar(&strict, "strict", false, "fail if the machine lacks something")
	return c
}

var errStrict = errors.New("this machine lacks the items above: fix them, or run without STRICT (--strict)")

// tellLacks prints one line for each item that the machine lacks. With strict, a missing
// item is an error.
func tellLacks(out io.Writer, lacks []error, strict bool) error {
	for _, err := range lacks {
		fmt.Fprintln(out, "lacks:", err)
	}
	if len(lacks) == 0 {
		fmt.Fprintln(out, "this machine can run every case")
	}
	if strict && len(lacks) > 0 {
		return statusError{statusInvalid, errStrict}
	}
	return nil
}
