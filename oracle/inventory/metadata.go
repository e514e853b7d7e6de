package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"

	"github.com/shimquake/shimquake/oracle/fact"
)

// askRecords lists the objects of the metadata store that no other function lists
// (core/metadata/buckets.go of containerd). It also lists the activations of the mount
// manager, which has its own store since 2.2.
func (d *Daemon) askRecords(ctx context.Context, ns string, s Scene) error {
	add := func(kind, name string) { d.Records = append(d.Records, Record{ns, kind, name}) }
	store := s.Client.ContentStore()
	err := store.Walk(ctx, func(info content.Info) error { add(fact.ABlob, info.Digest.String()); return nil })
	if err != nil {
		return fmt.Errorf("list content of %s: %w", ns, err)
	}
	ingests, err := store.ListStatuses(ctx)
	if err != nil {
		return fmt.Errorf("list ingests of %s: %w", ns, err)
	}
	for _, i := range ingests {
		add(fact.AnIngest, i.Ref)
	}
	images, err := s.Client.ImageService().List(ctx)
	if err != nil {
		return fmt.Errorf("list images of %s: %w", ns, err)
	}
	for _, i := range images {
		add(fact.AnImage, i.Name)
	}
	active, err := s.Client.MountManager().List(ctx)
	if err != nil && !errdefs.IsNotImplemented(err) {
		return fmt.Errorf("list activated mounts of %s: %w", ns, err)
	}
	for _, a := range active {
		add(fact.AnActivation, a.Name)
	}
	labels, err := s.Client.NamespaceService().Labels(ctx, ns)
	if err != nil {
		return fmt.Errorf("list the labels of the namespace %s: %w", ns, err)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		add(fact.ALabel, key)
	}
	return nil
}
