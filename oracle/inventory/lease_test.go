package inventory

import (
	"testing"

	"github.com/containerd/containerd/v2/core/leases"

	"github.com/shimquake/shimquake/must"
)

func TestSnapshotsOfALease(t *testing.T) {
	got := snapshotsOf(
		"ns",
		[]leases.Resource{{ID: "sha256:1", Type: "content"}, {ID: "c1", Type: "snapshots/overlayfs"}},
	)
	must.Equal(t, got, []Snapshot{{Namespace: "ns", Snapshotter: "overlayfs", Key: "c1"}})
}
