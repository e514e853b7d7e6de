package inventory

import (
	"slices"
	"testing"

	"github.com/containerd/containerd/v2/core/leases"
)

func TestSnapshotsOfALease(t *testing.T) {
	got := snapshotsOf(
		"ns",
		[]leases.Resource{{ID: "sha256:1", Type: "content"}, {ID: "c1", Type: "snapshots/overlayfs"}},
	)
	if want := []Snapshot{{Namespace: "ns", Snapshotter: "overlayfs", Key: "c1"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
