package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/shimquake/shimquake/harness/runner"
	"github.com/spf13/cobra"
)

func checkCommand() *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Say what this machine lacks for some cases, and what to do",
		Long: `Check says which kinds of cases this machine cannot run, each with the reason and what to do about it; the
verdicts of such cases are invalid, and specs that need one are skipped.

Exit status: 0; with --strict 3 when something is lacking.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tellLacks(cmd.OutOrStdout(), runner.Lacks(), strict)
		},
	}
	c.Flags().BoolVar(&strict, "strict", false, "fail when something is lacking")
	return c
}

var errStrict = errors.New("strict: see what this machine lacks above; fix it, or run without STRICT (--strict)")

// tellLacks prints a line a lack. In a strict check one is enough to end what was to
// come.
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
