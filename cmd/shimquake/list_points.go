package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd"
)

// pointsQuery has the options of `list points`. The zero value chooses the points that
// every release has.
type pointsQuery struct {
	// containerd adds the statements of this containerd, which is built if it is not in the
	// cache.
	containerd string
	// match is a regular expression for the name or the place of a point.
	match string
}

// refuse returns an error if a flag of `list points` is set for another list.
func (q *pointsQuery) refuse(cmd *cobra.Command, what string) error {
	if cmd.Flags().Changed("match") {
		return errors.New("--match works only with: shimquake list points")
	}
	if cmd.Flags().Changed("containerd") && what != "bugs" {
		return errors.New("--containerd works only with: shimquake list points, and shimquake list bugs")
	}
	return nil
}

func (q *pointsQuery) flags(c *cobra.Command) {
	c.Flags().StringVar(
		&q.containerd,
		"containerd",
		"",
		"print the points and statements of this containerd (a release, bin:DIR, src:DIR), or the bugs of this release",
	)
	c.Flags().StringVar(&q.match, "match", "", "print only points that match this regular expression, by name or place")
}

// list writes one line for each point. The line of a statement has its place, and the
// actions that not every statement supports.
func (q *pointsQuery) list(cmd *cobra.Command, w io.Writer) error {
	match, err := regexp.Compile(q.match)
	if err != nil {
		return fmt.Errorf("--match: %w", err)
	}
	lines := 0
	line := func(name, rest string) {
		if match.MatchString(name + rest) {
			lines++
			fmt.Fprintln(w, name+rest)
		}
	}
	if !cmd.Flags().Changed("containerd") {
		for _, p := range failpoints.Points() {
			line(p.String(), "")
		}
		if lines == 0 {
			return fmt.Errorf("no common point of all releases matches %q; --containerd %s also searches its statements",
				q.match, containerd.DefaultRelease)
		}
		return nil
	}
	subject, err := containerd.Resolve(cmd.Context(), q.containerd, containerd.Options{Log: stderr})
	if err != nil {
		return prepareError(err)
	}
	statements, err := subject.Statements()
	if err != nil {
		return err
	}
	for _, p := range subject.Points() {
		if p.Kind != failpoints.Stmt {
			line(p.String(), "")
		}
	}
	for _, s := range statements {
		var takes []string
		if s.Call {
			takes = append(takes, "error loseResult")
		}
		if s.Ctx {
			takes = append(takes, "cancel deadline")
		}
		line(s.Name, "\t"+s.Place()+"\t"+strings.Join(takes, " "))
	}
	if lines == 0 {
		return fmt.Errorf("no point of containerd %s matches %q", q.containerd, q.match)
	}
	return nil
}
