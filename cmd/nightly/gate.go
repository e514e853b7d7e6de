package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/quote"
)

func gateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "gate",
		Short: "Fail unless every job of $NEEDS has run and is green",
		Long: `Gate reads from the environment variable NEEDS what GitHub's toJSON(needs) says of the jobs before this
one, prints a table in Markdown, and fails unless all are "success": also where one was skipped or
cancelled, and where there is none.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return gate(os.Getenv("NEEDS"), cmd.OutOrStdout()) },
	}
}

// gate fails unless every job has succeeded.
func gate(needs string, out io.Writer) error {
	var jobs map[string]struct{ Result string }
	if err := json.Unmarshal([]byte(needs), &jobs); err != nil {
		return fmt.Errorf("NEEDS is not the output of toJSON(needs): %w", err)
	}
	if len(jobs) == 0 {
		return errors.New("NEEDS names no job, so nothing ran: list the jobs in the gate's `needs`")
	}
	fmt.Fprint(out, "| job | result |\n|---|---|\n")
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		result := jobs[name].Result
		fmt.Fprintf(out, "| %s | %s |\n", quote.Markdown(name), quote.Markdown(result))
		if result != "success" {
			bad = append(bad, fmt.Sprintf("%s: %q", name, result))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d jobs are not green: %s", len(bad), len(jobs), strings.Join(bad, ", "))
	}
	return nil
}
