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
	"github.com/shimquake/shimquake/harness/script"
)

func scriptCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "script CASE",
		Short: "Print the possible responses and states of each step of a case's script",
		Long: `Script runs nothing. For each step it prints the responses that are possible without a fault, and the state
of the object after the step. The faults of the plan are listed below.`,
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

// printScript prints one line for each step of a case.
func printScript(out io.Writer, c harness.Case) error {
	if err := c.Check(); err != nil {
		return err
	}
	steps, err := c.Workload.Steps()
	if err != nil {
		return err
	}
	if steps == nil {
		return errors.New("the case has no script, because its keys set the times of the client's actions")
	}
	words, err := stepWords(c.Workload, steps)
	if err != nil {
		return err
	}
	width := 0
	for _, s := range steps {
		width = max(width, len(s.String()))
	}
	for n, s := range steps {
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%2d  %-*s  %s", n+1, width, s, words[n]), " "))
	}
	for _, f := range c.Plan {
		fmt.Fprintf(out, "    fault: %s: %s\n", f.At, f.Do)
	}
	of, again := "each container", "c0"
	if c.Workload.API == harness.CRI {
		of, again = "the pod and its containers", "the pod's name"
	}
	fmt.Fprintf(out, "    then: the client removes %s, the inventory is taken, and %s is used again after a fault\n",
		of, again)
	return nil
}

// stepWords returns the possible responses and states of each step.
func stepWords(w harness.Workload, steps script.Script) (all []string, err error) {
	expected, err := model.Expect(w)
	for n, of := range expected {
		var responses, states []string
		for _, e := range of {
			responses = append(responses, responseWords(e.Responses, steps[n].Concurrent))
			states = append(states, fmt.Sprintf("%s: %s", e.Of, strings.Join(e.States, " or ")))
		}
		all = append(all, fmt.Sprintf("%-20s  %s", strings.Join(responses, ", "), strings.Join(states, ", ")))
	}
	return all, err
}

// responseWords returns the possible responses of a step.
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
