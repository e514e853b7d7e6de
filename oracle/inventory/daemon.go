package inventory

import (
	"slices"
	"time"
)

// Daemon lists containerd's own objects, in all requested namespaces.
type Daemon struct {
	Namespaces []string `json:"namespaces"`
	Containers []Ref    `json:"containers,omitempty"`
	// Details has more about each container. Histories do not keep it.
	Details   []ContainerDetails `json:"-"`
	Tasks     []Task             `json:"tasks,omitempty"`
	Snapshots []Snapshot         `json:"snapshots,omitempty"`
	Leases    []Ref              `json:"leases,omitempty"`
	// Expiring are the leases with an expiry, which containerd's garbage collection
	// removes.
	Expiring []ExpiringLease `json:"expiring,omitempty"`
	// SnapshotDirs are the directories of the uncommitted snapshots.
	SnapshotDirs []SnapshotDir `json:"snapshotDirs,omitempty"`
	// Records are the other records of the metadata.
	Records []Record `json:"records,omitempty"`
	// Sandboxes are the entries of the sandbox store, which exists since containerd 1.7.
	Sandboxes []Ref `json:"sandboxes,omitempty"`
}

// Ref is the name of an object of containerd.
type Ref struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

// ContainerDetails has more about a container than its name.
type ContainerDetails struct {
	Ref
	// Kind is CRI's label: sandbox, container or "".
	Kind    string    `json:"kind,omitempty"`
	NetNS   string    `json:"netns,omitempty"` // the path in its specification
	Created time.Time `json:"created"`
}

// Task is a task as containerd reports it.
type Task struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	PID       int    `json:"pid"` // in the scene's PID namespace
	// Status is UNKNOWN, CREATED, RUNNING, STOPPED, PAUSED or PAUSING.
	Status     string `json:"status"`
	ExitStatus uint32 `json:"exitStatus"`
}

// Task returns the task with that id, or without a namespace the first in any namespace.
func (d *Daemon) Task(ns, id string) (Task, bool) {
	if d == nil {
		return Task{}, false
	}
	return First(d.Tasks, func(t Task) bool { return t.ID == id && (ns == "" || t.Namespace == ns) })
}

// HasContainer reports whether containerd has a container with that id.
func (d *Daemon) HasContainer(ns, id string) bool {
	return d != nil && slices.ContainsFunc(d.Containers, func(r Ref) bool {
		return r.ID == id && (ns == "" || r.Namespace == ns)
	})
}

// Snapshot is a snapshot, as its snapshotter reports it.
type Snapshot struct {
	Namespace   string `json:"namespace"`
	Snapshotter string `json:"snapshotter"`
	Key         string `json:"key"`
	// Committed marks a layer of an image, which exists as long as the image.
	Committed bool `json:"committed,omitempty"`
}

// SnapshotDir is the directory of an uncommitted snapshot.
type SnapshotDir struct {
	Snapshot
	Dir string `json:"dir"` // inside the scene
}

// ExpiringLease is a lease with an expiry. containerd's garbage collection removes it,
// and the objects that only it keeps, some time later (docs/garbage-collection.md of
// containerd). containerd's client library creates a lease for a day before each
// operation that creates several objects.
type ExpiringLease struct {
	Ref
	Expires time.Time `json:"expires"`
	// Snapshots are the snapshots that the lease keeps.
	Snapshots []Snapshot `json:"snapshots,omitempty"`
}

// Record is a record of containerd's metadata that has no class of its own
// (finding.Class).
type Record struct {
	Namespace string `json:"namespace"`
	// Kind is ABlob, AnIngest, AnImage, AnActivation or ALabel (a label of its
	// namespace).
	Kind string `json:"kind"`
	Name string `json:"name"`
}
