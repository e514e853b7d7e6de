package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/quote"
)

// listVersions writes one line for each release: its version, and whether it is built and
// tested. Without a network it lists only the releases that this program knows.
func listVersions(cmd *cobra.Command, w io.Writer) error {
	all, err := containerd.Available(cmd.Context(), containerd.Options{})
	if len(all) == 0 {
		return prepareError(err)
	}
	for _, r := range all {
		var is []string
		if r.Built {
			is = append(is, "built")
		}
		if r.Tested {
			is = append(is, "tested")
		}
		if len(is) == 0 {
			is = []string{"available"}
		}
		fmt.Fprintf(w, "%s\t%s\n", r.Version, strings.Join(is, ", "))
	}
	if err != nil {
		fmt.Fprintln(stderr, "shimquake: the list has only the releases that this program knows, because the module proxy "+
			"could not be asked:", quote.Line(err.Error()))
		return nil
	}
	fmt.Fprintf(stderr, "shimquake: the list has the releases that this program or the module proxy knows; "+
		"you can use any release since %s\n", containerd.OldestRelease)
	return nil
}
