package task

import (
	"context"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// An expiry is a whole second: a lease that is to expire soon does so one or two seconds
// later, when the workload is mostly done. past is how much later it is looked for.
const (
	soon = 2 * time.Second
	long = time.Hour
	past = 10 * time.Millisecond
)

// snapshotter has the snapshots of tasks.
const snapshotter = "overlayfs"

// lease makes the leases of a case in which nothing is broken, each with a snapshot that
// nothing else keeps, and has garbage collected.
func (c *Client) lease(ctx context.Context) *harness.Leased {
	if !c.Case.Workload.Leases || c.Quiet || !c.Case.Faultless() {
		return nil
	}
	all := &harness.Leased{}
	for _, l := range []struct {
		id string
		in time.Duration
	}{{"lease-soon", soon}, {"lease-long", long}} {
		made := harness.Lease{ID: l.id, Expires: time.Now().Add(l.in).UTC().Truncate(time.Second)}
		err := c.of(ctx, "lease", made.ID, func(ctx context.Context, cl *containerd.Client) error {
			_, err := cl.LeasesService().Create(ctx, leases.WithID(made.ID),
				leases.WithLabels(map[string]string{oracle.ExpireLabel: made.Expires.Format(time.RFC3339)}))
			return err
		})
		if err != nil {
			continue
		}
		_ = c.of(ctx, "prepare", made.ID, func(ctx context.Context, cl *containerd.Client) error {
			_, err := cl.SnapshotService(snapshotter).Prepare(leases.WithLease(ctx, made.ID), made.ID, "")
			if err == nil {
				made.Snapshot = made.ID
			} else if time.Now().After(made.Expires) {
				return nil // it may have been collected before it kept anything
			}
			return err
		}) // that it failed is for others to say
		all.Leases = append(all.Leases, made)
	}
	c.seeLeases(ctx, all)
	return all
}

// endLeases waits until the first lease has expired, has garbage collected again, and
// removes what is left.
func (c *Client) endLeases(ctx context.Context, all *harness.Leased) {
	if all == nil {
		return
	}
	if len(all.Leases) > 0 {
		expired := time.NewTimer(time.Until(all.Leases[0].Expires.Add(past)))
		defer expired.Stop()
		select {
		case <-expired.C:
			c.seeLeases(ctx, all)
		case <-ctx.Done():
		}
	}
	for _, l := range all.Leases {
		_ = c.of(ctx, "unlease", l.ID, func(ctx context.Context, cl *containerd.Client) error {
			err := cl.LeasesService().Delete(ctx, leases.Lease{ID: l.ID}, leases.SynchronousDelete)
			if errdefs.IsNotFound(err) {
				return nil
			}
			return err
		}) // the oracle finds one that is left
	}
	c.Record.Set(func(h *harness.History) { h.Leased = all })
}

// seeLeases notes what there is of leases and of their snapshots when containerd has
// collected its garbage. It does so when a lease is deleted by somebody who waits for it.
func (c *Client) seeLeases(ctx context.Context, all *harness.Leased) {
	_ = c.of(ctx, "collect", "", func(ctx context.Context, cl *containerd.Client) error {
		manager := cl.LeasesService()
		third, err := manager.Create(ctx, leases.WithRandomID())
		if err != nil {
			return err
		}
		look := harness.LeaseLook{At: time.Now()}
		if err := manager.Delete(ctx, third, leases.SynchronousDelete); err != nil {
			return err
		}
		there, err := manager.List(ctx)
		if err != nil {
			return err
		}
		err = cl.SnapshotService(snapshotter).Walk(ctx, func(_ context.Context, is snapshots.Info) error {
			look.Snapshots = append(look.Snapshots, is.Name)
			return nil
		})
		if err != nil {
			return err
		}
		for _, l := range there {
			look.Leases = append(look.Leases, l.ID)
		}
		look.Answered = time.Now()
		all.Looks = append(all.Looks, look)
		return nil
	}) // that it failed is for others to say
}

// of is a call that is about something else than a container.
func (c *Client) of(ctx context.Context, verb, id string, f func(context.Context, *containerd.Client) error) error {
	return c.call(ctx, verb, &harness.Instance{ID: id}, f)
}
