package task

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/poll"
)

const (
	storeLease = "stores" // keeps all that stores are given here
	// collectedWithin is how long a collection may be put off that nobody asks for. With the
	// defaults of its scheduler one takes place within a second of a deletion.
	collectedWithin = 8 * time.Second
	// Who waits for a collection gives up before it, within and after: givesUpFirst after it
	// was asked for at the soonest, and each time a third later, until it takes no longer.
	// The rounds are several: how long one takes hangs on what else the machine does.
	givesUpFirst  = 200 * time.Microsecond
	givesUpRounds = 3
)

// use works with containerd's stores as those do that pull and build images, in a case in
// which nothing is broken.
func (c *Client) use(ctx context.Context) {
	if !c.Case.Workload.Stores || c.Quiet || !c.Case.Faultless() {
		return
	}
	s := &stores{Client: c}
	steps := []func(context.Context, *containerd.Client) error{
		s.keep, s.ingest, s.abort, s.build, s.many, s.activate, s.release, s.unkept, s.impatient,
		s.share, s.label, s.unlabel, s.together,
	}
	for n, step := range steps {
		if c.of(ctx, "store", storeLease+"-"+strconv.Itoa(n), step) != nil {
			break // that it failed is for others to say
		}
	}
	c.Record.Set(func(h *harness.History) { h.Stored = s.told })
}

type stores struct {
	*Client
	told []harness.Stored
}

func (s *stores) tell(of, key string, is, want any) {
	s.told = append(s.told, harness.Stored{Of: of, Key: key, Is: fmt.Sprint(is), Want: fmt.Sprint(want)})
}

func (s *stores) keep(ctx context.Context, cl *containerd.Client) error {
	_, err := cl.LeasesService().Create(ctx, leases.WithID(storeLease))
	return err
}

// ingest has content come damaged, and whole at the second attempt, by the same name, as
// after a download that broke; then somebody else brings the same.
func (s *stores) ingest(ctx context.Context, cl *containerd.Client) error {
	ctx = leases.WithLease(ctx, storeLease)
	cs := cl.ContentStore()
	const ref = "stores-blob"
	data := make([]byte, 100_000)
	_, _ = rand.Read(data) // it never fails
	desc := ocispec.Descriptor{Digest: digest.FromBytes(data), Size: int64(len(data))}
	damaged := slices.Clone(data)
	damaged[0] ^= 1
	err := content.WriteBlob(ctx, cs, ref, bytes.NewReader(damaged), desc)
	s.tell(harness.StoredCommit, ref, oracle.Code(err), codes.FailedPrecondition)
	if err := rewrite(ctx, cs, ref, data, desc.Digest); err != nil {
		return err
	}
	back, err := content.ReadBlob(ctx, cs, desc)
	if err != nil {
		return err
	}
	s.tell(harness.StoredContent, ref, digest.FromBytes(back), desc.Digest)
	again, err := cs.Writer(ctx, content.WithRef(ref+"-again"), content.WithDescriptor(desc))
	if err == nil {
		_ = again.Close()
	}
	s.tell(harness.StoredCommit, ref+"-again", oracle.Code(err), codes.AlreadyExists)
	return nil
}

// rewrite begins an ingest anew, of which there is all that was written before.
func rewrite(ctx context.Context, cs content.Store, ref string, data []byte, as digest.Digest) error {
	w, err := content.OpenWriter(ctx, cs, content.WithRef(ref))
	if err != nil {
		return err
	}
	err = w.Truncate(0)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Commit(ctx, int64(len(data)), as)
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	return err
}

// abort begins an ingest and gives it up.
func (s *stores) abort(ctx context.Context, cl *containerd.Client) error {
	ctx = leases.WithLease(ctx, storeLease)
	cs := cl.ContentStore()
	const ref = "stores-part"
	for range 2 { // it can be begun again
		// A busy machine ends the stream of a writer late.
		w, err := content.OpenWriter(ctx, cs, content.WithRef(ref))
		if err != nil {
			return err
		}
		_, err = w.Write([]byte("a part"))
		if closed := w.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
		if err := s.listed(ctx, cs, ref, true); err != nil {
			return err
		}
		if err := cs.Abort(ctx, ref); err != nil {
			return err
		}
		if err := s.listed(ctx, cs, ref, false); err != nil {
			return err
		}
	}
	return nil
}

func (s *stores) listed(ctx context.Context, cs content.Store, ref string, want bool) error {
	all, err := cs.ListStatuses(ctx)
	if err == nil {
		is := slices.ContainsFunc(all, func(i content.Status) bool { return i.Ref == ref })
		s.tell(harness.StoredIngest, ref, is, want)
	}
	return err
}

// build makes a snapshot on top of another, each from one that was prepared, and removes
// them, the upper one first.
func (s *stores) build(ctx context.Context, cl *containerd.Client) error {
	ctx = leases.WithLease(ctx, storeLease)
	sn := cl.SnapshotService(snapshotter)
	const lower, upper, view = "stores-lower", "stores-upper", "stores-view"
	parent := ""
	for _, name := range []string{lower, upper} {
		if _, err := sn.Prepare(ctx, name+"-active", parent); err != nil {
			return err
		}
		if err := sn.Commit(ctx, name, name+"-active"); err != nil {
			return err
		}
		is, err := sn.Stat(ctx, name)
		if err != nil {
			return err
		}
		s.tell(harness.StoredParent, name, is.Parent, parent)
		parent = name
	}
	if _, err := sn.View(ctx, view, upper); err != nil {
		return err
	}
	s.tell(harness.StoredRemoval, upper, oracle.Code(sn.Remove(ctx, upper)), codes.FailedPrecondition)
	for _, name := range []string{view, upper, lower} {
		s.tell(harness.StoredRemoval, name, oracle.Code(sn.Remove(ctx, name)), codes.OK)
	}
	return nil
}

// release lets go of all of it, and waits until it is collected.
func (s *stores) release(ctx context.Context, cl *containerd.Client) error {
	return cl.LeasesService().Delete(ctx, leases.Lease{ID: storeLease}, leases.SynchronousDelete)
}

// unkept deletes a lease and does not wait: what it kept goes all the same.
func (s *stores) unkept(ctx context.Context, cl *containerd.Client) error {
	const id = "stores-unkept"
	l, err := cl.LeasesService().Create(ctx, leases.WithID(id))
	if err != nil {
		return err
	}
	sn := cl.SnapshotService(snapshotter)
	if _, err := sn.Prepare(leases.WithLease(ctx, id), id, ""); err != nil {
		return err
	}
	if err := cl.LeasesService().Delete(ctx, l); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, collectedWithin)
	defer cancel()
	is := codes.OK
	_ = poll.Until(within, 50*time.Millisecond, func() (bool, error) {
		_, err := sn.Stat(ctx, id)
		is = oracle.Code(err)
		return err != nil, nil
	}) // that it is kept is told
	s.tell(harness.StoredSnapshot, id, is, codes.NotFound)
	return nil
}

// impatient waits for collections and gives up; who waits for one after that is answered.
// When one is under way is not to be seen.
func (s *stores) impatient(ctx context.Context, cl *containerd.Client) error {
	manager := cl.LeasesService()
	collect := func(within time.Duration) error {
		l, err := manager.Create(ctx, leases.WithRandomID())
		if err != nil {
			return err
		}
		if within == 0 {
			return manager.Delete(ctx, l, leases.SynchronousDelete)
		}
		brief, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		_ = manager.Delete(brief, l, leases.SynchronousDelete) // it is done, or not
		if err := manager.Delete(ctx, l); !errdefs.IsNotFound(err) {
			return err
		}
		return nil
	}
	for range givesUpRounds {
		begun := time.Now()
		if err := collect(0); err != nil {
			return err
		}
		took := time.Since(begun)
		for within := givesUpFirst; within <= took; within += within / 3 {
			if err := collect(within); err != nil {
				return err
			}
		}
	}
	return collect(0)
}
