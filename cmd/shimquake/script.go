package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
)

func scriptCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "script CASE",
		Short: "Print each step of a case's script, with the response and the state that must come of it",
		Long: `Script runs nothing. It goes through the steps of a case as if nothing was broken: which response each may
get, and the state of its object behind it. Faults of the plan are listed below the steps.`,
		Example: `  shimquake script my-case.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			c, err := catalogue.Find(words[0])
			if err != nil {
				return err
			}
			return printScript(cmd.OutOrStdout(), c)
		},
	}
}

// printScript prints the steps of a case, a line each.
func printScript(out io.Writer, c harness.Case) error {
	if err := c.Check(); err != nil {
		return err
	}
	if !c.Workload.Scripted() {
		return errors.New("the case has no script: each container is created, started, ended, waited for and deleted")
	}
	steps, err := c.Workload.Steps()
	if err != nil {
		return err
	}
	expected, err := model.Expect(c.Workload)
	if err != nil {
		return err
	}
	width := 0
	for _, s := range steps {
		width = max(width, len(s.String()))
	}
	for n, s := range steps {
		var responses, states []string
		for _, e := range expected[n] {
			responses = append(responses, responseWords(e.Responses, s.Concurrent))
			states = append(states, fmt.Sprintf("%s: %s", e.Of, strings.Join(e.States, " or ")))
		}
		line := fmt.Sprintf("%2d  %-*s  %-20s  %s", n+1, width, s, strings.Join(responses, ", "), strings.Join(states, ", "))
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	for _, f := range c.Plan {
		fmt.Fprintf(out, "    fault: %s: %s\n", f.At, f.Do)
	}
	fmt.Fprintln(out, "    then: the client removes each container, the inventory is taken, "+
		"and c0 is used again after a fault")
	return nil
}

// responseWords are the responses that a step may get.
func responseWords(all []harness.Response, concurrent bool) string {
	switch {
	case len(all) == 0 && concurrent:
		return "waits"
	case len(all) == 0:
		return "waits for ever"
	}
	var out []string
	for _, r := range all {
		out = append(out, string(r))
	}
	return strings.Join(out, " or ")
}
