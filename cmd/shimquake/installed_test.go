package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What an installed command has beside it is made by the command itself.
func TestInstalled(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/installed", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			only, _, _ := strings.Cut(env.Getenv("PATH"), ":") // testscript's, with the command alone
			env.Setenv("ONLY", only)
			return nil
		}})
}

// commands are all that a user may type beneath c.
func commands(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			all = append(append(all, sub), commands(sub)...)
		}
	}
	return all
}

// Each command has a page that tells of each of its flags, and the shell offers both.
func TestEveryCommandHasAPageAndIsCompleted(t *testing.T) {
	dir := t.TempDir()
	if got := shimquake(t, nil, "man", dir); got.status != 0 {
		t.Fatal(got)
	}
	top := root()
	top.InitDefaultCompletionCmd()
	top.InitDefaultHelpCmd()
	all := commands(top)
	if len(all) < 20 {
		t.Fatalf("only %d commands", len(all))
	}
	for _, c := range append(all, top) {
		path := strings.Fields(c.CommandPath())
		if c.Name() != "help" { // cobra writes none of it
			page, err := os.ReadFile(filepath.Join(dir, strings.Join(path, "-")+".1"))
			if err != nil {
				t.Error(err)
			}
			for _, flag := range flagsOf(c) {
				if !strings.Contains(strings.ReplaceAll(string(page), `\`, ""), "--"+flag) {
					t.Errorf("the page of %s does not tell of --%s", c.CommandPath(), flag)
				}
			}
		}
		if len(path) > 1 {
			words := append([]string{cobra.ShellCompRequestCmd}, path[1:]...)
			if got := shimquake(t, nil, words...); !strings.Contains("\n"+got.out, "\n"+c.Name()+"\t") {
				t.Errorf("the shell is not offered %s: %s", c.CommandPath(), got.out)
			}
		}
		for _, flag := range flagsOf(c) {
			words := append(append([]string{cobra.ShellCompRequestCmd}, path[1:]...), "--"+flag)
			if got := shimquake(t, nil, words...); !strings.Contains(got.out, "--"+flag) {
				t.Errorf("the shell is not offered %s --%s: %s", c.CommandPath(), flag, got.out)
			}
		}
	}
}

func flagsOf(c *cobra.Command) (names []string) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}
