package inventory

import (
	"context"
	"fmt"
	"path/filepath"
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
	if len(only) > 0 {
		want = parts{}
	}
	for _, c := range only {
		want[c] = true
		if c == finding.ClassFile { // the files of these classes are no findings of their own
			for _, covers := range finding.ClassesThat(func(k finding.Kind) bool { return k.Covers }) {
				want[covers] = true
			}
		}
	}
	return take(ctx, s.withDefaults(), want)
}

// take reads the wanted parts. It asks containerd before it reads files and processes. So
// a removal in between looks like a missing file, and not like a leak.
func take(ctx context.Context, s Scene, want parts) (Inventory, error) {
	inv := Inventory{Taken: time.Now(), Places: s.places()}
	var err error
	if s.Client != nil && want.has(finding.ClassContainer, finding.ClassTask, finding.ClassLease, finding.ClassSnapshot,
		finding.ClassSandbox, finding.ClassMetadata, finding.ClassCgroup) { // a namespace has a cgroup, which may stay
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
	if !want.has(finding.ClassBundle, finding.ClassSocket, finding.ClassCRIDir, finding.ClassRuncState, finding.ClassFIFO,
		finding.ClassFile) {
		return nil
	}
	t, err := scan.OpenTree(s.Root)
	if err != nil {
		return err
	}
	defer t.Close()
	if want.has(finding.ClassBundle, finding.ClassSocket) { // sockets may be in bundles, too
		err = scan.EachBundle(t, s.State, s.ContainerdRoot, func(b Bundle) { inv.Bundles = append(inv.Bundles, b) })
	}
	if err == nil && want.has(finding.ClassSocket) {
		var listening []scan.UnixSocket
		if listening, err = scan.Listeners(s.Proc, 1); err == nil {
			inv.Sockets, err = Sockets(t, s.SocketDirs, inv.Bundles, listening)
		}
	}
	if err == nil && want.has(finding.ClassCRIDir) {
		inv.CRIDirs, err = scan.CRIDirs(t, s.State, s.ContainerdRoot)
	}
	if err == nil && want.has(finding.ClassRuncState) {
		err = scan.EachRuncState(t, s.RuncRoot, func(r RuncState) { inv.RuncStates = append(inv.RuncStates, r) })
	}
	if err == nil && want.has(finding.ClassFIFO) {
		inv.FIFOs, err = fifos(t, s)
	}
	if err == nil && want.has(finding.ClassFile) {
		inv.Files, err = listFiles(t, s, inv.Mounts)
	}
	return err
}
