package compare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue/bugs"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/residue"
	"github.com/shimquake/shimquake/oracle/wording"
)

// An object of each class that containerd still has is found, and nothing else.
// suites/control tests the same with a real containerd.
func TestDaemonLeaks(t *testing.T) {
	c1 := inventory.Ref{Namespace: "default", ID: "c1"}
	before := inventory.Inventory{Daemon: &inventory.Daemon{
		Namespaces: []string{"default"}, Leases: []inventory.Ref{{Namespace: "default", ID: "old"}},
		Snapshots: []inventory.Snapshot{{Namespace: "default", Snapshotter: "overlayfs", Key: "sha256:1", Committed: true}},
	}}
	for _, test := range []struct {
		class finding.Class
		plant func(*inventory.Daemon)
		says  []string
	}{
		{finding.ClassContainer, func(d *inventory.Daemon) { d.Containers = []inventory.Ref{c1} },
			[]string{"container default/c1", "containerd has no task with that id"}},
		{finding.ClassTask, func(d *inventory.Daemon) {
			d.Tasks = []inventory.Task{{Namespace: "default", ID: "c1", PID: 54, Status: "STOPPED"}}
		},
			[]string{"task default/c1", "STOPPED, pid 54", "no such process"}},
		{finding.ClassSnapshot, func(d *inventory.Daemon) {
			d.Snapshots = append(d.Snapshots, inventory.Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "c1"})
		},
			[]string{"snapshot default/c1", "no container with that name"}},
		{finding.ClassLease, func(d *inventory.Daemon) { d.Leases = append(d.Leases, c1) }, []string{"lease default/c1"}},
		{finding.ClassSnapshot, func(d *inventory.Daemon) {
			d.Snapshots = append(d.Snapshots,
				inventory.Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "sha256:2", Committed: true})
		},
			[]string{"snapshot default/sha256:2", "committed, and new"}},
		{finding.ClassMetadata, func(d *inventory.Daemon) {
			d.Records = []inventory.Record{{Namespace: "default", Kind: fact.ABlob, Name: "sha256:2"}}
		},
			[]string{"blob default/sha256:2", "metadata still has it"}},
		{finding.ClassMetadata, func(d *inventory.Daemon) {
			d.Records = []inventory.Record{{Namespace: "default", Kind: fact.AnIngest, Name: "layer"}}
		},
			[]string{"ingest default/layer"}},
		{finding.ClassMetadata, func(d *inventory.Daemon) {
			d.Records = []inventory.Record{{Namespace: "default", Kind: fact.AnImage, Name: "a:b"}}
		},
			[]string{"image default/a:b"}},
		{finding.ClassMetadata, func(d *inventory.Daemon) {
			d.Records = []inventory.Record{{Namespace: "default", Kind: fact.AnActivation, Name: "c1"}}
		},
			[]string{"activation of the mount manager default/c1"}},
		{finding.ClassMetadata, func(d *inventory.Daemon) {
			d.Records = []inventory.Record{{Namespace: "default", Kind: fact.ALabel, Name: "used-by.c1"}}
		},
			[]string{"label of the namespace default/used-by.c1"}},
		{finding.ClassMetadata, func(d *inventory.Daemon) { d.Namespaces = []string{"default", "new"} },
			[]string{"namespace new"}},
		{finding.ClassSandbox, func(d *inventory.Daemon) { d.Sandboxes = []inventory.Ref{c1} },
			[]string{"sandbox default/c1", "sandbox store"}},
	} {
		t.Run(string(test.class), func(t *testing.T) {
			after := inventory.Inventory{Processes: []inventory.Process{{PID: 1, Own: true}}}
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
			// The same, if containerd was not asked before. Then all objects count.
			if found := Leaks(inventory.Inventory{}, after); len(found) < 2 {
				t.Errorf("without a daemon before: %v", found)
			}
		})
	}
}

// A lease that expires, and the snapshot that it keeps, are reported as such. A lease
// without an expiry is not, although another lease expires.
func TestLeasesThatExpire(t *testing.T) {
	held := inventory.Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "held"}
	free := inventory.Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "free"}
	short, long := inventory.Ref{Namespace: "default", ID: "short"}, inventory.Ref{Namespace: "default", ID: "long"}
	end := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	after := inventory.Inventory{Daemon: &inventory.Daemon{
		Leases: []inventory.Ref{short, long}, Snapshots: []inventory.Snapshot{held, free},
		Expiring: []inventory.ExpiringLease{{Ref: short, Expires: end, Snapshots: []inventory.Snapshot{held}}},
	}}
	residues := must.Get(residue.Load(bugs.Files))(t)
	found := residue.Mark(residues, Leaks(inventory.Inventory{Daemon: &inventory.Daemon{}}, after),
		residue.Circumstances{Releases: []string{"v2.4.2"}, Happened: []string{residue.ContainerdDied}})
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
	must.Equal(t, known, want)
	for _, f := range found {
		if f.Subject.ID == "short" && f.Facts[fact.At] != end.Format(time.RFC3339) {
			t.Errorf("it expires at %s, reported %q", end, f.Facts[fact.At])
		}
	}
}

// reads reports whether the text of a finding contains all given words.
func reads(f finding.Finding, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(wording.Of(f), w) })
}
