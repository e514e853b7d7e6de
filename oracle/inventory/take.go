package inventory

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/scan"
)

// Take lists everything in the scene, or only what findings of some classes need. It
// takes a few milliseconds and changes nothing. An error means that a part could not be
// read, so that the inventory must not be compared. Either process 1 of the scene has
// ended, or containerd did not respond before ctx ended.
func Take(ctx context.Context, s Scene, only ...finding.Class) (Inventory, error) {
	var want parts
	for _, c := range only {
		if want == nil {
			want = parts{}
		}
		want[c] = true
	}
	return take(ctx, s.withDefaults(), want)
}

// take reads the wanted parts. It asks containerd before it reads files and processes. So
// a removal in between looks like a missing file, and not like a leak.
func take(ctx context.Context, s Scene, want parts) (Inventory, error) {
	inv := Inventory{Taken: time.Now(), Places: s.places()}
	var err error
	if s.Client != nil && want.has(finding.ClassContainer, finding.ClassTask, finding.ClassLease, finding.ClassSnapshot,
		finding.ClassSandbox, finding.ClassMetadata) {
		if inv.Daemon, err = askDaemon(ctx, s, want); err != nil {
			return inv, fmt.Errorf("ask containerd: %w", err)
		}
	}
	if want.has(finding.ClassProcess, finding.ClassShim, finding.ClassHandle) {
		if inv.Processes, err = processes(s.Proc, s.Own); err != nil {
			return inv, err
		}
	}
	if want.has(finding.ClassNetwork) && s.Networks != nil {
		if inv.Networks, err = s.Networks(); err != nil {
			return inv, err
		}
	}
	if want.has(finding.ClassMount, finding.ClassNetwork) {
		if inv.Mounts, err = Mounts(filepath.Join(s.Proc, "1")); err != nil {
			return inv, err
		}
	}
	if want.has(finding.ClassCgroup) {
		if inv.Cgroups, err = cgroups(s.CgroupDirs); err != nil {
			return inv, err
		}
	}
	if err := inv.takeFiles(s, want); err != nil {
		return inv, err
	}
	if want.has(finding.ClassHandle) { // last, because by now the other requests have released their handles
		inv.Handles, err = handles(ctx, s, inv.Processes)
	}
	return inv, err
}

func (inv *Inventory) takeFiles(s Scene, want parts) error {
	bundles := want.has(finding.ClassBundle, finding.ClassSocket) // sockets may be in bundles, too
	if !bundles && !slices.ContainsFunc(fileReaders, func(r fileReader) bool { return want.has(r.of) }) {
		return nil
	}
	t, err := scan.OpenTree(s.Root)
	if err != nil {
		return err
	}
	defer t.Close()
	if bundles {
		err := scan.EachBundle(t, s.State, s.ContainerdRoot, func(b Bundle) { inv.Bundles = append(inv.Bundles, b) })
		if err != nil {
			return err
		}
	}
	for _, r := range fileReaders {
		if !want.has(r.of) {
			continue
		}
		if err := r.read(inv, t, s); err != nil {
			return err
		}
	}
	return nil
}

// fileReader reads the objects of a class from the scene's files.
type fileReader struct {
	of   finding.Class
	read func(*Inventory, *scan.Tree, Scene) error
}

var fileReaders = []fileReader{
	{finding.ClassSocket, readSockets}, {finding.ClassCRIDir, readCRIDirs}, {finding.ClassRuncState, readRuncStates},
	{finding.ClassFIFO, readFIFOs},
	{finding.ClassFile, readFiles},
}

func readCRIDirs(inv *Inventory, t *scan.Tree, s Scene) (err error) {
	inv.CRIDirs, err = scan.CRIDirs(t, s.State, s.ContainerdRoot)
	return err
}

func readRuncStates(inv *Inventory, t *scan.Tree, s Scene) error {
	return scan.EachRuncState(t, s.RuncRoot, func(r RuncState) { inv.RuncStates = append(inv.RuncStates, r) })
}
