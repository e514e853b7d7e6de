package inventory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"
	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/scan"
)

// maxNamespaces limits the namespaces of one containerd. Nodes have a few.
const maxNamespaces = 1000

// askDaemon asks containerd for its objects of the wanted classes.
func askDaemon(ctx context.Context, s Scene, want parts) (*Daemon, error) {
	ctx = scan.WithinLists(ctx)
	d := &Daemon{Namespaces: slices.Clone(s.Namespaces)}
	if len(d.Namespaces) == 0 {
		all, err := s.Client.NamespaceService().List(ctx)
		if err != nil {
			return nil, fmt.Errorf("list namespaces: %w", err)
		}
		d.Namespaces = all
	}
	if n := len(d.Namespaces); n > maxNamespaces {
		return nil, fmt.Errorf("it lists %d namespaces, and the limit is %d", n, maxNamespaces)
	}
	if err := CheckNames("namespace", d.Namespaces); err != nil {
		return nil, err
	}
	slices.Sort(d.Namespaces)
	// Each namespace has its own part, because the requests are concurrent. Only this
	// function writes to d.
	answers := make([]Daemon, len(d.Namespaces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i, ns := range d.Namespaces {
		group.Go(func() error {
			return answers[i].ask(namespaces.WithNamespace(ctx, ns), ns, s, want)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, a := range answers {
		d.Containers = append(d.Containers, a.Containers...)
		d.Details = append(d.Details, a.Details...)
		d.Tasks = append(d.Tasks, a.Tasks...)
		d.Snapshots = append(d.Snapshots, a.Snapshots...)
		d.Leases = append(d.Leases, a.Leases...)
		d.Expiring = append(d.Expiring, a.Expiring...)
		d.Sandboxes = append(d.Sandboxes, a.Sandboxes...)
		d.SnapshotDirs = append(d.SnapshotDirs, a.SnapshotDirs...)
		d.Records = append(d.Records, a.Records...)
	}
	var ids []string
	for _, c := range d.Details {
		ids = append(ids, c.ID, cmp.Or(c.Kind, c.ID)) // most containers have no kind
	}
	for _, t := range d.Tasks {
		ids = append(ids, t.ID)
	}
	for _, r := range d.Sandboxes {
		ids = append(ids, r.ID)
	}
	return d, CheckNames("id", ids)
}

// CheckNames returns an error for a name that could forge a row, a path or a command.
func CheckNames(what string, names []string) error {
	if i := slices.IndexFunc(names, func(name string) bool { return !scan.IsName(name) }); i >= 0 {
		return fmt.Errorf("it listed an invalid %s: %.300q", what, names[i])
	}
	return nil
}

// criKind is the label of CRI's containers.
const criKind = "io.cri-containerd.kind"

// netnsPath returns the path of the network namespace in a container's specification, or
// "". The rest has the workload's environment and command line.
func netnsPath(spec typeurl.Any) string {
	var s struct {
		Linux struct {
			Namespaces []struct{ Type, Path string }
		}
	}
	if spec == nil || json.Unmarshal(spec.GetValue(), &s) != nil {
		return ""
	}
	ns, _ := First(s.Linux.Namespaces, func(n struct{ Type, Path string }) bool { return n.Type == "network" })
	return ns.Path
}

func (d *Daemon) ask(ctx context.Context, ns string, s Scene, want parts) error {
	if want.has(finding.ClassContainer) {
		all, err := s.Client.ContainerService().List(ctx)
		if err != nil {
			return fmt.Errorf("list containers of %s: %w", ns, err)
		}
		for _, c := range all {
			d.Containers = append(d.Containers, Ref{ns, c.ID})
			d.Details = append(d.Details, ContainerDetails{Ref{ns, c.ID}, c.Labels[criKind], netnsPath(c.Spec), c.CreatedAt})
		}
	}
	if want.has(finding.ClassTask) {
		all, err := s.Client.TaskService().List(ctx, &tasksapi.ListTasksRequest{})
		if err != nil {
			return fmt.Errorf("list tasks of %s: %w", ns, err)
		}
		for _, t := range all.Tasks {
			// ContainerID is empty in the responses of List. A task has the id of its container.
			d.Tasks = append(d.Tasks, Task{ns, cmp.Or(t.ContainerID, t.ID), int(t.Pid), t.Status.String(), t.ExitStatus})
		}
	}
	if want.has(finding.ClassLease) {
		if err := d.askLeases(ctx, ns, s); err != nil {
			return err
		}
	}
	if want.has(finding.ClassSnapshot) {
		for _, name := range s.Snapshotters {
			if err := d.askSnapshots(ctx, ns, name, s); err != nil {
				return fmt.Errorf("list snapshots of %s in %s: %w", name, ns, err)
			}
		}
	}
	if want.has(finding.ClassMetadata) {
		if err := d.askRecords(ctx, ns, s); err != nil {
			return err
		}
	}
	if want.has(finding.ClassSandbox) {
		all, err := s.Client.SandboxStore().List(ctx)
		if err != nil && !errdefs.IsNotImplemented(err) {
			return fmt.Errorf("list sandboxes of %s: %w", ns, err)
		}
		for _, box := range all {
			d.Sandboxes = append(d.Sandboxes, Ref{ns, box.ID})
		}
	}
	return nil
}
