package oracle

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/leases"

	"github.com/shimquake/shimquake/catalogue/bugs"
)

// What containerd still knows is found, each class alone; suites/control does the same
// with a real containerd.
func TestDaemonLeaks(t *testing.T) {
	c1 := Ref{"default", "c1"}
	before := Inventory{Daemon: &Daemon{
		Namespaces: []string{"default"}, Leases: []Ref{{"default", "old"}},
		Snapshots: []Snapshot{{Namespace: "default", Snapshotter: "overlayfs", Key: "sha256:1", Committed: true}},
	}}
	for _, test := range []struct {
		class Class
		plant func(*Daemon)
		says  []string
	}{
		{ClassContainer, func(d *Daemon) { d.Containers = []Ref{c1} },
			[]string{"container default/c1", "no task of that id in containerd"}},
		{ClassTask, func(d *Daemon) { d.Tasks = []Task{{Namespace: "default", ID: "c1", PID: 54, Status: "STOPPED"}} },
			[]string{"task default/c1", "STOPPED, pid 54", "no such process"}},
		{ClassSnapshot, func(d *Daemon) {
			d.Snapshots = append(d.Snapshots, Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "c1"})
		},
			[]string{"snapshot default/c1", "no container of that name"}},
		{ClassLease, func(d *Daemon) { d.Leases = append(d.Leases, c1) }, []string{"lease default/c1"}},
		{ClassSnapshot, func(d *Daemon) {
			d.Snapshots = append(d.Snapshots,
				Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "sha256:2", Committed: true})
		},
			[]string{"snapshot default/sha256:2", "committed, and was not there before"}},
		{ClassMetadata, func(d *Daemon) { d.Records = []Record{{"default", ABlob, "sha256:2"}} },
			[]string{"blob default/sha256:2", "metadata still has it"}},
		{ClassMetadata, func(d *Daemon) { d.Records = []Record{{"default", AnIngest, "layer"}} },
			[]string{"ingest default/layer"}},
		{ClassMetadata, func(d *Daemon) { d.Records = []Record{{"default", AnImage, "a:b"}} },
			[]string{"image default/a:b"}},
		{ClassMetadata, func(d *Daemon) { d.Records = []Record{{"default", AnActivation, "c1"}} },
			[]string{"activation of the mount manager default/c1"}},
		{ClassMetadata, func(d *Daemon) { d.Records = []Record{{"default", ALabel, "used-by.c1"}} },
			[]string{"label of the namespace default/used-by.c1"}},
		{ClassMetadata, func(d *Daemon) { d.Namespaces = []string{"default", "new"} }, []string{"namespace new"}},
		{ClassSandbox, func(d *Daemon) { d.Sandboxes = []Ref{c1} }, []string{"sandbox default/c1", "sandbox store"}},
	} {
		t.Run(string(test.class), func(t *testing.T) {
			after := Inventory{Processes: []Process{{PID: 1, Own: true}}}
			d := *before.Daemon
			d.Leases, d.Snapshots = slices.Clone(d.Leases), slices.Clone(d.Snapshots)
			after.Daemon = &d
			if found := Leaks(before, after); len(found) != 0 {
				t.Fatalf("found before anything was planted: %v", found)
			}
			test.plant(&d)
			found := Leaks(before, after)
			if len(found) != 1 || found[0].Class != test.class || !reads(found[0], test.says) {
				t.Errorf("found %v, want one %s that says %q", found, test.class, test.says)
			}
			// The same, when containerd was not asked before: everything counts.
			if found := Leaks(Inventory{}, after); len(found) < 2 {
				t.Errorf("without a daemon before: %v", found)
			}
		})
	}
}

// A lease that ends by itself, and the snapshot that it keeps, are reported as such; one
// without an end is not, though another one has.
func TestLeasesThatExpire(t *testing.T) {
	held := Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "held"}
	free := Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "free"}
	short, long := Ref{"default", "short"}, Ref{"default", "long"}
	end := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	after := Inventory{Daemon: &Daemon{
		Leases: []Ref{short, long}, Snapshots: []Snapshot{held, free},
		Expiring: []ExpiringLease{{Ref: short, Expires: end, Snapshots: []Snapshot{held}}},
	}}
	residues, err := LoadResidues(bugs.Files)
	if err != nil {
		t.Fatal(err)
	}
	found := Mark(residues, Leaks(Inventory{Daemon: &Daemon{}}, after),
		Circumstances{Release: "v2.4.2", Happened: []string{ContainerdDied}})
	known := map[string]string{}
	for _, f := range found {
		known[f.Subject.ID] = f.Known
	}
	want := map[string]string{
		"short": "lease-expires",
		"held":  "snapshot-of-a-lease-that-expires",
		"long":  "",
		"free":  "",
	}
	if !maps.Equal(known, want) {
		t.Errorf("%v, want %v", known, want)
	}
	for _, f := range found {
		if f.Subject.ID == "short" && f.Facts[FactAt] != end.Format(time.RFC3339) {
			t.Errorf("it expires at %s, reported %q", end, f.Facts[FactAt])
		}
	}
}

func TestSnapshotsOfALease(t *testing.T) {
	got := snapshotsOf(
		"ns",
		[]leases.Resource{{ID: "sha256:1", Type: "content"}, {ID: "c1", Type: "snapshots/overlayfs"}},
	)
	if want := []Snapshot{{Namespace: "ns", Snapshotter: "overlayfs", Key: "c1"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// reads reports whether the words for a finding have all of some words.
func reads(f Finding, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(f.String(), w) })
}
