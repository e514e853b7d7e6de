package task

import (
	"bytes"
	"context"
	"fmt"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// share has two leases keep one snapshot, the second by asking for one that there is, by
// its name and as the target of another, as two pulls of a layer do.
func (s *stores) share(ctx context.Context, cl *containerd.Client) error {
	manager, sn := cl.LeasesService(), cl.SnapshotService(snapshotter)
	const first, second = "stores-first", "stores-second"
	for _, id := range []string{first, second} {
		if _, err := manager.Create(ctx, leases.WithID(id)); err != nil {
			return err
		}
	}
	const byName, byTarget = "stores-shared", "stores-target"
	for _, name := range []string{byName, byTarget} {
		own := leases.WithLease(ctx, first)
		if _, err := sn.Prepare(own, name+"-active", ""); err != nil {
			return err
		}
		if err := sn.Commit(own, name, name+"-active"); err != nil {
			return err
		}
	}
	other := leases.WithLease(ctx, second)
	_, err := sn.Prepare(other, byName, "")
	s.tell(harness.StoredCommit, byName, oracle.Code(err), codes.AlreadyExists)
	_, err = sn.Prepare(other, byTarget+"-again", "", snapshots.WithLabels(map[string]string{targetLabel: byTarget}))
	s.tell(harness.StoredCommit, byTarget, oracle.Code(err), codes.AlreadyExists)
	if err := manager.Delete(ctx, leases.Lease{ID: first}, leases.SynchronousDelete); err != nil {
		return err
	}
	for _, name := range []string{byName, byTarget} {
		_, err := sn.Stat(ctx, name)
		s.tell(harness.StoredSnapshot, name, oracle.Code(err), codes.OK)
	}
	if err := manager.Delete(ctx, leases.Lease{ID: second}, leases.SynchronousDelete); err != nil {
		return err
	}
	for _, name := range []string{byName, byTarget} {
		_, err := sn.Stat(ctx, name)
		s.tell(harness.StoredSnapshot, name, oracle.Code(err), codes.NotFound)
	}
	return nil
}

// targetLabel names the snapshot that one is to become, by which a snapshotter is asked
// whether it has that already.
const targetLabel = "containerd.io/snapshot.ref"

// label has content be kept by the label of a container that has no snapshot, for as long
// as there is that container.
func (s *stores) label(ctx context.Context, cl *containerd.Client) error {
	const id = "stores-labelled"
	manager := cl.LeasesService()
	l, err := manager.Create(ctx, leases.WithID(id))
	if err != nil {
		return err
	}
	data := []byte("kept by a label")
	desc := ocispec.Descriptor{Digest: digest.FromBytes(data), Size: int64(len(data))}
	cs := cl.ContentStore()
	if err := content.WriteBlob(leases.WithLease(ctx, id), cs, id, bytes.NewReader(data), desc); err != nil {
		return err
	}
	_, err = cl.ContainerService().Create(ctx,
		inert(id, map[string]string{"containerd.io/gc.ref.content.kept": desc.Digest.String()}))
	if err != nil {
		return err
	}
	there := func(want codes.Code) {
		_, err := cs.Info(ctx, desc.Digest)
		s.tell(harness.StoredKept, id, oracle.Code(err), want)
	}
	err = manager.Delete(ctx, l, leases.SynchronousDelete)
	there(codes.OK)
	if gone := cl.ContainerService().Delete(ctx, id); err == nil {
		err = gone
	}
	if err == nil {
		err = s.collect(ctx, cl)
	}
	there(codes.NotFound)
	return err
}

// inert is a container that nobody runs. A spec it must have to be updated, and before
// v1.7 to be made.
func inert(id string, labels map[string]string) containers.Container {
	return containers.Container{ID: id, Labels: labels, Runtime: containers.RuntimeInfo{Name: "none"},
		Spec: &anypb.Any{TypeUrl: "none", Value: []byte("{}")}}
}

// collect waits for a collection of all that is kept no more.
func (s *stores) collect(ctx context.Context, cl *containerd.Client) error {
	l, err := cl.LeasesService().Create(ctx, leases.WithRandomID())
	if err == nil {
		err = cl.LeasesService().Delete(ctx, l, leases.SynchronousDelete)
	}
	return err
}

const (
	// keptByOne is how many snapshots a lease keeps, so that their removal takes longer than
	// it takes the next to come.
	keptByOne = 150
	inTurn    = 2
	nextAfter = 2 * time.Millisecond
	// answeredWithin is how long each may wait for its collection. It takes some 20 ms.
	answeredWithin = 5 * time.Second
)

// together has two wait for a collection, the second of whom comes while that of the
// first removes what it has found, and after whom nothing is changed any more.
func (s *stores) together(ctx context.Context, cl *containerd.Client) error {
	manager, sn := cl.LeasesService(), cl.SnapshotService(snapshotter)
	for turn := range inTurn {
		var both []leases.Lease
		for n, kept := range []int{keptByOne, 1} {
			id := fmt.Sprintf("stores-wait-%d-%d", turn, n)
			l, err := manager.Create(ctx, leases.WithID(id))
			for k := 0; k < kept && err == nil; k++ {
				_, err = sn.Prepare(leases.WithLease(ctx, id), fmt.Sprintf("%s-%d", id, k), "")
			}
			if err != nil {
				return err
			}
			both = append(both, l)
		}
		said := make([]error, len(both))
		var g errgroup.Group
		for n, l := range both {
			time.Sleep(time.Duration(n*(turn+1)) * nextAfter) //nolint:forbidigo // the second comes so much later
			g.Go(func() error {
				own, cancel := context.WithTimeout(ctx, answeredWithin)
				defer cancel()
				said[n] = manager.Delete(own, l, leases.SynchronousDelete)
				return nil
			})
		}
		_ = g.Wait() // its functions return no error
		for n, err := range said {
			s.tell(harness.StoredCollected, both[n].ID, oracle.Code(err), codes.OK)
			if err = manager.Delete(ctx, both[n]); err != nil && !errdefs.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}
