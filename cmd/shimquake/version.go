package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/source"
)

// scripts/build sets these variables. After go install, the version comes from Go's build
// information.
var version, commit string

// about is the output of `shimquake version`.
type about struct {
	Version    string   `json:"version"`
	Commit     string   `json:"commit,omitempty"`
	Go         string   `json:"go"`
	Platform   string   `json:"platform"`
	Containerd string   `json:"containerd"` // The default release.
	Programs   []string `json:"programs"`   // The embedded programs.
	Source     string   `json:"source"`     // The digest of the embedded source.
}

func newAbout() about {
	a := about{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Containerd: containerd.DefaultRelease, Programs: source.EmbeddedPrograms(), Source: source.Hash()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return a
	}
	if a.Version == "" {
		a.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && a.Commit == "" {
			a.Commit = s.Value
		}
	}
	return a
}

func (a about) String() string {
	text := fmt.Sprintf("shimquake %s\n", a.Version)
	if a.Commit != "" {
		text += fmt.Sprintf("commit      %s\n", a.Commit)
	}
	text += fmt.Sprintf("go          %s %s\ncontainerd  %s by default\n", a.Go, a.Platform, a.Containerd)
	if len(a.Programs) > 0 {
		return text + "programs    embedded, so --containerd bin:DIR needs no Go\n"
	}
	return text + "programs    not embedded: built with Go when needed\n"
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printResult(cmd.OutOrStdout(), asJSON, newAbout())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
