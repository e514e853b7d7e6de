// Command shimquake runs fault-injection cases against a real containerd. See
// docs/one-case.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/gobuild"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/spelling"
)

// Exit statuses. docs/reference.md has them.
const (
	statusHeld     = 0 // Every case held.
	statusViolated = 1 // A case is violated.
	statusUsage    = 2 // The command line or an input file is wrong.
	statusInvalid  = 3 // A case is invalid, or this machine cannot run it.
)

// statusError carries an exit status. Its text, if any, is printed.
type statusError struct {
	status int
	err    error
}

func (e statusError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e statusError) Unwrap() error { return e.err }

// withStatus returns an error, or else the exit status as an error.
func withStatus(status int, err error) error {
	if err == nil && status != statusHeld {
		return statusError{status: status}
	}
	return err
}

func main() {
	// Worlds and evidence must not depend on the umask of the user.
	unix.Umask(0o022)
	ctx := progress.With(context.Background(), progress.New(os.Stderr)) //nolint:forbidigo // it draws a bar
	ctx, interrupt := untilSignal(ctx, progress.Writer(ctx, stderr))
	out := newOutput(os.Stdout, interrupt) //nolint:forbidigo // the one place
	c := root()
	c.SetOut(quote.NewTerminal(out))
	c.SetErr(stderr)
	err := interrupted(ctx, c.ExecuteContext(ctx))
	if out.isBroken.Load() {
		os.Exit(128 + int(unix.SIGPIPE)) // no message: other programs also end silently by SIGPIPE
	}
	if err == nil {
		return
	}
	status := statusUsage // The errors of cobra itself.
	if se, ok := errors.AsType[statusError](err); ok {
		status = se.status
	}
	if err.Error() != "" {
		var b quote.Text
		b.Block("shimquake: ", quote.Error(err, os.Args[1:]...))
		fmt.Fprint(stderr, b.String())
	}
	os.Exit(status)
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "shimquake",
		Short: "Break containerd's shims on purpose, and prove that no shim leaks and every exit status is real",
		Long: `Shimquake runs a real containerd with its own shims in a throw-away world and injects faults at exact
places. The client recovers as kubelet and dockerd do. Then Shimquake judges the events and the leaks.

Exit status: 0 held, 1 violated, 2 wrong usage or bad input, 3 invalid (a fault did not fire, or this
machine cannot run it).

Builds are kept in /var/cache/shimquake (or in SHIMQUAKE_CACHE), and worlds are in /var/lib/shimquake
(or in SHIMQUAKE_DIR).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			cache, err := containerd.CacheDir()
			if err != nil || runsNothing(cmd) {
				return
			}
			// Without Go the builds in the cache still work, and a new build reports that Go is
			// missing.
			_ = gobuild.FindGo(cmd.Context(), cache)
		},
	}
	c.Version = newAbout().Version // For --version. `shimquake version` prints more.
	c.Args = func(_ *cobra.Command, words []string) error { return unknownCommand(c, words) }
	c.AddCommand(checkCommand(), runCommand(), scriptCommand(), judgeCommand(), buildCommand(), listCommand(),
		showCommand(),
		matrixCommand(), bisectCommand(), reproCommand(), gcCommand(), sweepCommand(), compareCommand(), auditCommand(),
		reportCommand(), bundleCommand(), versionCommand(), manCommand())
	tellUsage(c)
	completeWords(c)
	return c
}

// runsNothing reports whether a command needs no search for Go, which runs programs. An
// audit must run no other program, and a completion must be fast.
func runsNothing(cmd *cobra.Command) bool {
	if cmd.HasParent() && cmd.Parent().Name() == "completion" {
		return true
	}
	switch cmd.Name() {
	case "audit", "version", "man", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return true
	}
	return false
}

// tellUsage adds the usage line to errors about the number of arguments.
func tellUsage(c *cobra.Command) {
	for _, sub := range c.Commands() {
		tellUsage(sub)
		count := sub.Args
		if count == nil {
			continue
		}
		sub.Args = func(cmd *cobra.Command, words []string) error {
			if err := count(cmd, words); err != nil {
				return fmt.Errorf("%w; usage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
}

// tellDefault replaces a default that depends on the machine by a text, so that the
// manual pages are the same on all machines.
func tellDefault(c *cobra.Command, flag, text string) { c.Flags().Lookup(flag).DefValue = text }

// unknownCommand returns an error of one line for an unknown command. cobra's own error
// has four lines.
func unknownCommand(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	var known []string
	for _, sub := range c.Commands() {
		known = append(known, sub.Name())
	}
	return spelling.Unknown("command", words[0], known)
}
