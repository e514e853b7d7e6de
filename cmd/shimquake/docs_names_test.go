package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/sweep/plan"
)

// checkShimquake compares the words with the tree of commands, and the names with the
// catalogue and the releases.
func checkShimquake(words []string) error {
	all := root()
	all.InitDefaultCompletionCmd(words...)
	c, rest, err := all.Find(words)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		return err
	}
	args := c.Flags().Args()
	if help, _ := c.Flags().GetBool("help"); help {
		return nil
	}
	if here, _ := c.Flags().GetBool("here"); here || c.Args == nil {
		return checkNames(c, args)
	}
	return errors.Join(c.ValidateArgs(args), checkNames(c, args))
}

// checkNames checks the cases, bugs and releases that a command names.
func checkNames(c *cobra.Command, args []string) (err error) {
	for _, a := range args {
		if c.Name() == "build" {
			err = errors.Join(err, checkRelease(a))
		}
		if !isName(a) {
			continue
		}
		switch c.Name() {
		case "run", "bisect":
			_, nerr := catalogue.Find(a)
			err = errors.Join(err, nerr)
		case "show", "matrix", "repro":
			_, nerr := catalogue.FindBug(a)
			err = errors.Join(err, nerr)
		case "list":
			err = errors.Join(err, cobra.OnlyValidArgs(c, args))
		}
	}
	for _, name := range []string{"containerd", "good", "bad"} {
		if f := c.Flags().Lookup(name); f != nil {
			err = errors.Join(err, checkRelease(f.Value.String()))
		}
	}
	if releases, _ := c.Flags().GetStringSlice("releases"); c.Flags().Changed("releases") {
		for _, r := range releases {
			err = errors.Join(err, checkRelease(r))
		}
	}
	return errors.Join(err, checkSweep(c))
}

// checkSweep checks the options of a sweep.
func checkSweep(c *cobra.Command) error {
	if c.Flags().Lookup("workload") == nil {
		return nil
	}
	list := func(name string) []string {
		l, _ := c.Flags().GetStringSlice(name)
		return l
	}
	hits, _ := c.Flags().GetString("hits")
	o := plan.Options{Who: list("who"), Actions: list("actions"), Paths: list("path"), Workloads: list("workload"),
		Hits: hits}
	if shard, _ := c.Flags().GetString("shard"); shard != "" {
		if _, err := plan.ParseShard(shard); err != nil {
			return err
		}
	}
	return o.Check()
}

// isName reports whether a word is the name of an existing thing: neither a file nor a
// placeholder in capitals.
func isName(word string) bool {
	placeholder := strings.ContainsAny(word, "./|…") || word == "-" || strings.ToUpper(word) == word
	return !placeholder || numbered.MatchString(word)
}

var (
	numbered = regexp.MustCompile(`^[0-9]+$`)
	release  = regexp.MustCompile(`^v[0-9]`)
)

// checkRelease returns an error for a release that is unknown here. Pages name releases
// that readers can have without a network.
func checkRelease(name string) error {
	if !release.MatchString(name) || slices.Contains(containerd.Releases(), name) {
		return nil
	}
	for _, b := range catalogue.Bugs() {
		for _, of := range b.Releases {
			if slices.Contains([]string{of.Bad, of.Fixed, of.Since, of.Seen, of.Held}, name) {
				return nil
			}
		}
	}
	return fmt.Errorf("release %s is neither tested nor in the catalogue", name)
}

// mustRun reports whether a script must run a command. Such a command ends within
// seconds. It needs no network, and no release that a first run would have to build.
func mustRun(words []string) bool {
	all := root()
	all.InitDefaultCompletionCmd(words...)
	c, rest, err := all.Find(words)
	if err != nil || c.ParseFlags(rest) != nil {
		return false // checkTyped reports the reason
	}
	set := c.Flags().Changed
	switch c.CommandPath() {
	case "shimquake run":
		of, _ := c.Flags().GetString("containerd")
		return !set("count") && slices.Contains([]string{"", containerd.DefaultRelease, containerd.QuickRelease}, of)
	case "shimquake repro":
		return set("read-only")
	case "shimquake sweep":
		return set("plan-only") && !set("containerd")
	case "shimquake audit":
		return !set("watch")
	case "shimquake list", "shimquake show", "shimquake judge", "shimquake report", "shimquake bundle",
		"shimquake check", "shimquake sweep report", "shimquake sweep merge", "shimquake":
		return true
	}
	return false
}
