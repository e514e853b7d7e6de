package task

import (
	"bytes"
	"context"
	"maps"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/sandbox"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

const (
	rootLabel  = "containerd.io/gc.root" // keeps the content, or the snapshot, that has it
	otherLabel = "shimquake.example/other"
	unlabelled = "stores-unlabelled" // the beginning of all keys of what loses a label
)

// labelled is what has labels in one of containerd's stores.
type labelled struct {
	key    string
	make   func(ctx context.Context, labels map[string]string) error
	get    func(ctx context.Context) (map[string]string, error)
	update func(ctx context.Context, labels map[string]string, paths ...string) error
	remove func(ctx context.Context) error // nil: the collector does, when rootLabel is gone
	of     string                          // what is asked of it then
}

// unlabel removes a label of one of each kind by its name, and of another by a set of
// labels without it. What no label keeps any more is collected.
func (s *stores) unlabel(ctx context.Context, cl *containerd.Client) error {
	for _, l := range labelledAs(cl, unlabelled+"-one") {
		if err := s.relabel(ctx, cl, l, map[string]string{rootLabel: ""}, "labels."+rootLabel); err != nil {
			return err
		}
	}
	for _, l := range labelledAs(cl, unlabelled+"-all") {
		if err := s.relabel(ctx, cl, l, map[string]string{otherLabel: "new"}, "labels"); err != nil {
			return err
		}
	}
	return nil
}

// relabel makes what has two labels, and changes them.
func (s *stores) relabel(
	ctx context.Context,
	cl *containerd.Client,
	l labelled,
	to map[string]string,
	path string,
) error {
	lease, err := cl.LeasesService().Create(ctx, leases.WithRandomID())
	if err != nil {
		return err
	}
	labels := map[string]string{rootLabel: "now", otherLabel: "old"}
	made := l.make(leases.WithLease(ctx, lease.ID), maps.Clone(labels))
	if err := cl.LeasesService().Delete(ctx, lease, leases.SynchronousDelete); err != nil {
		return err
	}
	if errdefs.IsNotImplemented(made) {
		return nil // there is no such store before v1.7
	}
	if made != nil {
		return made
	}
	if err := s.labels(ctx, l, labels); err != nil {
		return err
	}
	if err := l.update(ctx, maps.Clone(to), path); err != nil {
		return err
	}
	maps.Copy(labels, to)
	delete(labels, rootLabel)
	if err := s.labels(ctx, l, labels); err != nil {
		return err
	}
	if l.remove != nil {
		return l.remove(ctx)
	}
	err = s.collect(ctx, cl)
	_, got := l.get(ctx)
	s.tell(l.of, l.key, oracle.Code(got), "NotFound")
	return err
}

// labels asks for all labels.
func (s *stores) labels(ctx context.Context, l labelled, want map[string]string) error {
	is, err := l.get(ctx)
	if err == nil {
		s.tell(harness.StoredLabels, l.key, is, want)
	}
	return err
}

// labelledAs are one of each kind, by names that begin so.
func labelledAs(cl *containerd.Client, name string) []labelled {
	desc := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString(name),
		Size: int64(len(name))}
	return []labelled{
		labelledContent(cl.ContentStore(), name, desc), labelledSnapshot(cl.SnapshotService(snapshotter), name),
		labelledImage(cl.ImageService(), name, desc), labelledContainer(cl.ContainerService(), name),
		labelledSandbox(cl.SandboxStore(), name),
	}
}

func labelledContent(cs content.Store, name string, desc ocispec.Descriptor) labelled {
	return labelled{
		key: name + "-content", of: harness.StoredKept,
		make: func(ctx context.Context, labels map[string]string) error {
			return content.WriteBlob(ctx, cs, name, bytes.NewReader([]byte(name)), desc, content.WithLabels(labels))
		},
		get: func(ctx context.Context) (map[string]string, error) {
			is, err := cs.Info(ctx, desc.Digest)
			return is.Labels, err
		},
		update: func(ctx context.Context, labels map[string]string, paths ...string) error {
			_, err := cs.Update(ctx, content.Info{Digest: desc.Digest, Labels: labels}, paths...)
			return err
		},
	}
}

func labelledSnapshot(sn snapshots.Snapshotter, name string) labelled {
	return labelled{
		key: name + "-snapshot", of: harness.StoredSnapshot,
		make: func(ctx context.Context, labels map[string]string) error {
			_, err := sn.Prepare(ctx, name, "", snapshots.WithLabels(labels))
			return err
		},
		get: func(ctx context.Context) (map[string]string, error) {
			is, err := sn.Stat(ctx, name)
			return is.Labels, err
		},
		update: func(ctx context.Context, labels map[string]string, paths ...string) error {
			_, err := sn.Update(ctx, snapshots.Info{Name: name, Labels: labels}, paths...)
			return err
		},
	}
}

func labelledImage(all images.Store, name string, desc ocispec.Descriptor) labelled {
	return labelled{
		key: name + "-image",
		make: func(ctx context.Context, labels map[string]string) error {
			_, err := all.Create(ctx, images.Image{Name: name, Target: desc, Labels: labels})
			return err
		},
		get: func(ctx context.Context) (map[string]string, error) {
			is, err := all.Get(ctx, name)
			return is.Labels, err
		},
		update: func(ctx context.Context, labels map[string]string, paths ...string) error {
			_, err := all.Update(ctx, images.Image{Name: name, Labels: labels}, paths...)
			return err
		},
		remove: func(ctx context.Context) error { return all.Delete(ctx, name) },
	}
}

func labelledContainer(all containers.Store, name string) labelled {
	return labelled{
		key: name + "-container",
		make: func(ctx context.Context, labels map[string]string) error {
			_, err := all.Create(ctx, inert(name, labels))
			return err
		},
		get: func(ctx context.Context) (map[string]string, error) {
			is, err := all.Get(ctx, name)
			return is.Labels, err
		},
		update: func(ctx context.Context, labels map[string]string, paths ...string) error {
			_, err := all.Update(ctx, containers.Container{ID: name, Labels: labels}, paths...)
			return err
		},
		remove: func(ctx context.Context) error { return all.Delete(ctx, name) },
	}
}

func labelledSandbox(all sandbox.Store, name string) labelled {
	return labelled{
		key: name + "-sandbox",
		make: func(ctx context.Context, labels map[string]string) error {
			_, err := all.Create(ctx, sandbox.Sandbox{ID: name, Labels: labels,
				Runtime: sandbox.RuntimeOpts{Name: "none"}})
			return err
		},
		get: func(ctx context.Context) (map[string]string, error) {
			is, err := all.Get(ctx, name)
			return is.Labels, err
		},
		update: func(ctx context.Context, labels map[string]string, paths ...string) error {
			_, err := all.Update(ctx, sandbox.Sandbox{ID: name, Labels: labels}, paths...)
			return err
		},
		remove: func(ctx context.Context) error { return all.Delete(ctx, name) },
	}
}
