package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/audit/stacks"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/quote"
)

// Exit statuses of an audit.
const (
	statusSuspects   = 1
	statusNotAudited = 2
)

// auditing has the options of the command line.
type auditing struct {
	options    audit.Options
	json       bool
	watch      bool
	every      time.Duration
	prometheus string
	bundle     string
	workloads  bool
	stacks     bool
	out, log   io.Writer

	reported map[string]bool // suspects that --watch has reported
	// The previous audit of --watch had so many suspects, and so many troubles: suspects and
	// silent containerds. bundles is the number of bundles that the watch has written.
	was, troubles, bundles int
}

func auditCommand() *cobra.Command {
	var a auditing
	c := &cobra.Command{
		Use:   "audit",
		Short: "Find leaks of containerd on this node, without changing anything",
		Long: `Audit finds every containerd on the node (systemd's, k3s', rke2's, docker's, one in a container) and
compares its lists with the node: shims, sockets, bundles, mounts, cgroups, network namespaces, runc's state and CRI's
lists.
It prints a row for each object without an owner, with a matching bug of the version and a remedy.

It only reads: it sends no signal (without --stacks), writes nothing, makes no call that changes state, and connects to
no shim. Each call has a timeout. A second look checks each suspect (--settle), so a container that is starting or
stopping is not one.

Exit status: 0 no suspects, 1 suspects, 2 the audit failed or is incomplete.`,
		Example: `  sudo shimquake audit
  sudo shimquake audit --bundle node-7.tar.gz   # evidence for a report: no environment, shims' command lines alone
  sudo shimquake audit --watch --every 1m --prometheus /var/lib/node_exporter/shimquake.prom`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("every") && !a.watch {
				return statusError{statusNotAudited, errors.New("--every sets the interval of --watch: add --watch")}
			}
			if err := a.check(); err != nil {
				return statusError{statusNotAudited, err}
			}
			a.out, a.log = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if a.watch {
				return a.keepWatch(cmd.Context())
			}
			r, err := a.once(cmd.Context())
			if err != nil {
				return statusError{statusNotAudited, err}
			}
			if err := printResult(a.out, a.json, r); err != nil {
				return statusError{statusNotAudited, err}
			}
			return auditStatus(r)
		},
	}
	f := c.Flags()
	f.BoolVar(&a.json, "json", false, "print the report as one JSON object")
	f.DurationVar(&a.options.Settle, "settle", 3*time.Second, "least time before the second look")
	f.DurationVar(&a.options.Timeout, "timeout", 5*time.Second, "timeout of each call to containerd")
	f.IntVar(&a.options.PID, "pid", 0,
		"audit only the root and PID namespace of this process: a containerd, or a container that is a node")
	f.BoolVar(&a.options.Untrusted, "untrusted", false,
		"also examine containerds that do not belong to root, or with files that other users may write")
	f.StringVar(&a.options.Proc, "proc", "/proc", "the procfs of the node's PID namespace")
	f.BoolVar(&a.watch, "watch", false, "audit repeatedly, and print new suspects")
	f.DurationVar(&a.every, "every", time.Minute, "with --watch: the interval")
	f.StringVar(&a.prometheus, "prometheus", "", "write metrics to this `file`, for node_exporter's textfile collector")
	f.StringVar(&a.bundle, "bundle", "", "write evidence to this tar.gz `file`")
	f.BoolVar(&a.stacks, "stacks", false, "with --bundle: kernel stacks, goroutines (sends SIGUSR1 to containerd and"+
		" its runc shim, which log them), and the journal; with --watch: when suspects or silent containerds are added")
	f.BoolVar(&a.workloads, "with-workloads", false,
		"with --bundle: command lines, environment and config.json of containers, too")
	return c
}

// check returns an error for an invalid option.
func (a *auditing) check() error {
	for _, f := range []struct {
		name string
		is   time.Duration
	}{{"settle", a.options.Settle}, {"timeout", a.options.Timeout}, {"every", a.every}} {
		if f.is <= 0 {
			return fmt.Errorf("--%s %s: it must be more than 0, such as 1s", f.name, f.is)
		}
	}
	if a.workloads && a.bundle == "" {
		return errors.New("--with-workloads sets the content of a bundle: add --bundle FILE")
	}
	switch {
	case a.stacks && a.bundle == "":
		return errors.New("--stacks sets the content of a bundle: add --bundle FILE")
	case a.stacks && (a.options.Untrusted || a.options.Proc != "/proc"):
		return errors.New("--stacks sends signals, so it takes neither --untrusted nor --proc: leave it out")
	}
	if a.options.PID < 0 {
		return fmt.Errorf("--pid %d: it must be the pid of a process; leave it out to audit the whole node", a.options.PID)
	}
	return nil
}

// auditStatus returns the exit status as an error.
func auditStatus(r *audit.Report) error {
	switch {
	case len(r.Suspects) > 0:
		return statusError{status: statusSuspects}
	case len(r.Partial) > 0:
		return statusError{status: statusNotAudited}
	}
	return nil
}

// once runs one audit, and writes the requested files.
func (a *auditing) once(ctx context.Context) (*audit.Report, error) {
	r, err := audit.Run(ctx, a.options)
	if err != nil {
		return nil, err
	}
	nameBugs(r)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.prometheus != "" {
		if err := foreign.Replace(a.prometheus, 0o644, r.Metrics); err != nil {
			return nil, fmt.Errorf("write metrics: %w", err)
		}
	}
	if name, more := a.bundle, map[string][]byte(nil); name != "" && a.isDue(r) {
		if a.stacks {
			more = stacks.Take(ctx, r)
		}
		if a.stacks && a.watch { // a later bundle, of a node that has recovered, must not replace it
			name = strings.TrimSuffix(name, ".tar.gz") + r.Taken.Format("-20060102-150405") + ".tar.gz"
		}
		evidence := func(w io.Writer) error { return r.Evidence(ctx, w, a.options, a.workloads, more) }
		if err := foreign.Replace(name, 0o600, evidence); err != nil {
			return nil, fmt.Errorf("write the bundle: %w", err)
		}
	}
	return r, nil
}

// maxBundles limits the bundles with stacks of a watch. A node may flap all night.
const maxBundles = 20

// isDue reports whether a bundle is due. With --watch and --stacks it is due when
// suspects or silent containerds are added, maxBundles times.
func (a *auditing) isDue(r *audit.Report) bool {
	troubles, before := len(r.Suspects), a.troubles
	for _, d := range r.Daemons {
		if !d.Answered {
			troubles++
		}
	}
	a.troubles = troubles
	if !a.watch || !a.stacks {
		return true
	}
	due := troubles > before && a.bundles < maxBundles
	if due {
		a.bundles++
	}
	return due
}

// keepWatch audits until it is interrupted, or the process of --pid has ended. It
// reports another failed audit, and continues.
func (a *auditing) keepWatch(ctx context.Context) error {
	a.reported = map[string]bool{}
	tick := time.NewTicker(a.every)
	defer tick.Stop()
	for {
		r, err := a.once(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, audit.ErrEnded):
			return statusError{statusNotAudited, fmt.Errorf("the watch ends: %w", err)}
		case err != nil:
			fmt.Fprintf(a.log, "%s the audit failed, and is tried again: %v\n", time.Now().Format(time.TimeOnly), err)
		case a.json:
			if err := printResult(a.out, true, r); err != nil {
				return err
			}
		default:
			a.news(r)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// news prints a line with the counts, and then the new suspects.
func (a *auditing) news(r *audit.Report) {
	fmt.Fprintf(a.out, "%s %d suspects (%+d), %d shims\n", r.Taken.Format(time.TimeOnly), len(r.Suspects),
		len(r.Suspects)-a.was, r.Shims)
	a.was = len(r.Suspects)
	for _, p := range r.Partial {
		fmt.Fprintln(a.out, "  note:", quote.Line(p))
	}
	now := map[string]bool{}
	for _, s := range r.Suspects {
		name := fmt.Sprint(s.Kind, s.Namespace, s.ID, s.PID, s.Path)
		now[name] = true
		if !a.reported[name] {
			fmt.Fprint(a.out, s)
		}
	}
	a.reported = now
}
