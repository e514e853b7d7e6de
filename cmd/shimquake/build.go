package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/spelling"
)

func buildCommand() *cobra.Command {
	var stock, binaries bool
	var patched patches
	c := &cobra.Command{
		Use:   "build VERSION...",
		Short: "Build a containerd under test, and print its folder",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, specs []string) error {
			for _, spec := range specs {
				patched.on(&spec)
				s, err := containerd.Resolve(cmd.Context(), spec, containerd.Options{Stock: stock, Log: stderr})
				if err != nil {
					return prepareError(err)
				}
				if !stock && !binaries &&
					os.Geteuid() == 0 { // So that a copy of the cache has everything that cases need.
					r := runner.Runner{Log: stderr}
					if err := r.Prepare(cmd.Context(), spec); err != nil {
						return prepareError(err)
					}
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\n", s.Version, s.Bin)
			}
			return nil
		},
	}
	patched.register(c.Flags())
	c.Flags().BoolVar(&stock, "stock", false, "build without probes")
	c.Flags().BoolVar(&binaries, "binaries", false,
		"build only the binaries, if no world can run here, such as in the build of an image")
	return c
}

// prepareError gives an error during the preparation its exit status. A mistake of the
// user is usage. A failed build, or a machine that lacks something, is invalid.
func prepareError(err error) error {
	if errors.As(err, new(*spelling.UnknownError)) {
		return err
	}
	if runner.IsUnsupported(err) || errors.Is(err, containerd.ErrFetch) || errors.Is(err, world.ErrInitGone) {
		return statusError{statusInvalid, err}
	}
	if errors.As(err, new(*containerd.BuildError)) || errors.As(err, new(*daemon.TemplateError)) {
		return statusError{statusInvalid, err}
	}
	return statusError{statusUsage, err}
}
