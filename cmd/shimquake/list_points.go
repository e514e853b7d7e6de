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

// pointsQuery chooses the points that are listed. Its zero value are those that every
// release has.
type pointsQuery struct {
	containerd string // whose points, statements among them; it is built when the cache does not have it
	match      string // a regular expression that the name or the place of a point must match
}

// refuse says no to the flags where something else than points is listed.
func (q *pointsQuery) refuse(cmd *cobra.Command, what string) error {
	if cmd.Flags().Changed("match") {
		return errors.New("--match is for: shimquake list points")
	}
	if cmd.Flags().Changed("containerd") && what != "bugs" {
		return errors.New("--containerd is for: shimquake list points, and list bugs")
	}
	return nil
}

func (q *pointsQuery) flags(c *cobra.Command) {
	c.Flags().StringVar(
		&q.containerd,
		"containerd",
		"",
		"points of this containerd, its statements among them (a release, bin:DIR, src:DIR); bugs that this release has",
	)
	c.Flags().StringVar(&q.match, "match", "", "only points whose name or place matches this regular expression")
}

// list writes a point a line: its name, and of a statement its place and what it takes
// beside crash, pause, delay and panic.
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
			return fmt.Errorf("no point that every release has matches %q; --containerd %s looks among its statements, too",
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
			takes = append(takes, "error lose")
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
