package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/must"
)

// An installed command makes its own manual pages and completions.
func TestInstalled(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/installed", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			only, _, _ := strings.Cut(env.Getenv("PATH"), ":") // testscript's, with the command alone
			env.Setenv("ONLY", only)
			return nil
		}})
}

// commands returns all commands below c.
func commands(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			all = append(append(all, sub), commands(sub)...)
		}
	}
	return all
}

// Each command has a page with all of its flags, and the shell completes both.
func TestEveryCommandHasAPageAndIsCompleted(t *testing.T) {
	t.Parallel()
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
			page := must.Get(os.ReadFile(filepath.Join(dir, strings.Join(path, "-")+".1")))(t)
			for _, flag := range flagsOf(c) {
				must.Contain(t, strings.ReplaceAll(string(page), `\`, ""), "--"+flag,
					"the page of", c.CommandPath())
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

// manPages are the files of all manual pages, as they are installed.
func manPages() (names []string) {
	top := root()
	top.InitDefaultCompletionCmd()
	for _, c := range append(commands(top), top) {
		names = append(names, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1.gz")
	}
	return names
}

// installed are the files that scripts/install makes beneath a prefix.
func installed(zsh string) []string {
	all := []string{"bin/shimquake", "share/bash-completion/completions/shimquake", zsh + "/_shimquake",
		"share/fish/vendor_completions.d/shimquake.fish"}
	for _, name := range manPages() {
		all = append(all, "share/man/man1/"+name)
	}
	slices.Sort(all)
	return all
}

// make install puts there what it should, and make uninstall leaves nothing of it.
func TestInstallAndUninstall(t *testing.T) {
	t.Parallel()
	self := must.Get(os.Executable())(t)
	program := filepath.Join(t.TempDir(), "program")
	text := "#!/bin/sh\nSHIMQUAKE_TEST_MAIN=1 exec " + self + " \"$@\"\n"
	must.Succeed(t, child.WriteProgram(program, []byte(text)))
	dest := t.TempDir()
	before := []string{"share/man/man1/other.1.gz", "bin/other"}
	for _, name := range before {
		path := filepath.Join(dest, "usr", name)
		must.Succeed(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)))
	}
	prefix := "/usr"
	script := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "../../scripts/install", args...)
		cmd.Env = append(os.Environ(), "PREFIX="+prefix, "DESTDIR="+dest)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("scripts/install %q: %v\n%s", args, err, out)
		}
	}
	script(program)
	want := append(installed("share/zsh/site-functions"), before...)
	slices.Sort(want)
	if diff := cmp.Diff(want, tree(t, filepath.Join(dest, "usr"))); diff != "" {
		t.Errorf("what is wanted (-) and installed (+):\n%s", diff)
	}
	script("--remove")
	slices.Sort(before)
	if diff := cmp.Diff(before, tree(t, filepath.Join(dest, "usr"))); diff != "" {
		t.Errorf("what was there (-) and is there after make uninstall (+):\n%s", diff)
	}
	if empty, _ := filepath.Glob(filepath.Join(dest, "usr/share/*")); len(empty) != 1 {
		t.Errorf("left empty: %v", empty)
	}
	dest, prefix = t.TempDir(), "/usr/local" // where nothing was, nothing is
	script(program)
	script("--remove")
	must.Len(t, must.Get(os.ReadDir(dest))(t), 0, "left in an empty DESTDIR")
}

// tree are the files beneath a folder, sorted.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	must.Succeed(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	slices.Sort(names)
	return names
}
