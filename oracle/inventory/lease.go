package inventory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/errdefs"
)

// expireLabel is the label with a lease's expiry, in the form of RFC 3339
// (leases.WithExpiration).
const expireLabel = "containerd.io/gc.expire"

// askLeases lists the leases of a namespace, and the snapshots of leases with an expiry.
func (d *Daemon) askLeases(ctx context.Context, ns string, s Scene) error {
	manager := s.Client.LeasesService()
	all, err := manager.List(ctx)
	if err != nil {
		return fmt.Errorf("list leases of %s: %w", ns, err)
	}
	for _, l := range all {
		d.Leases = append(d.Leases, Ref{ns, l.ID})
		end, err := time.Parse(time.RFC3339, l.Labels[expireLabel])
		if err != nil {
			continue // without an expiry, or with one that containerd cannot parse either
		}
		kept, err := manager.ListResources(ctx, l)
		if errdefs.IsNotFound(err) {
			continue // another process has removed it
		}
		if err != nil {
			return fmt.Errorf("list the resources of lease %s of %s: %w", l.ID, ns, err)
		}
		d.Expiring = append(d.Expiring, ExpiringLease{Ref: Ref{ns, l.ID}, Expires: end, Snapshots: snapshotsOf(ns, kept)})
	}
	return nil
}

// snapshotsOf returns the snapshots among a lease's resources, whose type is
// snapshots/SNAPSHOTTER.
func snapshotsOf(ns string, kept []leases.Resource) []Snapshot {
	var out []Snapshot
	for _, r := range kept {
		if snapshotter, ok := strings.CutPrefix(r.Type, "snapshots/"); ok {
			out = append(out, Snapshot{Namespace: ns, Snapshotter: snapshotter, Key: r.ID})
		}
	}
	return out
}
