// Package inventory answers: what exists in a [Scene]? It reads processes, mounts, sockets,
// cgroups, handles and files, and asks containerd for its lists.
//
// It only looks: it sends no signal, removes no file and connects to no shim. [Collect]
// alone has containerd collect its garbage.
package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/scan"
)

// Bundle is a directory NAMESPACE/ID of a shim.
type Bundle = scan.Bundle

// Dir is a directory of CRI for one pod or container.
type Dir = scan.Dir

// RuncState is runc's state directory of one container.
type RuncState = scan.RuncState

// Inventory is everything of containerd that is in a scene at one time.
type Inventory struct {
	Taken      time.Time   `json:"taken"`
	Processes  []Process   `json:"processes,omitempty"`
	Sockets    []Socket    `json:"sockets,omitempty"`
	Bundles    []Bundle    `json:"bundles,omitempty"`
	CRIDirs    []Dir       `json:"criDirs,omitempty"`
	Mounts     []Mount     `json:"mounts,omitempty"`
	Cgroups    []Cgroup    `json:"cgroups,omitempty"`
	RuncStates []RuncState `json:"runcStates,omitempty"`
	FIFOs      []string    `json:"fifos,omitempty"`
	Files      []File      `json:"files,omitempty"`
	// Networks are the calls of the pods' CNI plugin so far.
	Networks []NetworkCall `json:"networks,omitempty"`
	Places   Places        `json:"places,omitzero"`
	// Handles are containerd's, and then each shim's; nil when none were looked at.
	Handles []Handles `json:"handles,omitempty"`
	// Uncollected is why containerd did not collect its garbage when asked; nil where it
	// has, or there was none.
	Uncollected *callerr.Failed `json:"uncollected,omitempty"`
	// Daemon is nil when containerd was not asked: Scene.Client was nil.
	Daemon *Daemon `json:"daemon,omitempty"`
}

// parts are the classes that a look covers; nil covers all.
type parts map[finding.Class]bool

func (p parts) has(any ...finding.Class) bool {
	return p == nil || slices.ContainsFunc(any, func(c finding.Class) bool { return p[c] })
}

// Take lists what is in the scene. It costs a few milliseconds and changes nothing. An
// error means that something could not be read, so that the inventory must not be judged:
// the world's init is gone, or containerd does not answer. How long containerd may take
// is ctx's to say. Given classes, it looks only at what findings of these are about.
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

// take reads the wanted parts. Files and processes are read after containerd was asked:
// what it still knew is then rather gone from the disk than the other way about.
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
		if inv.Mounts, err = mounts(s.Proc); err != nil {
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
	if want.has(finding.ClassHandle) { // last: what the other questions took is given back by then
		inv.Handles, err = handles(ctx, s, inv.Processes)
	}
	return inv, err
}

func (inv *Inventory) takeFiles(s Scene, want parts) error {
	bundles := want.has(finding.ClassBundle, finding.ClassSocket) // sockets lie beside bundles too
	if !bundles && !slices.ContainsFunc(fileReaders, func(r fileReader) bool { return want.has(r.of) }) {
		return nil
	}
	t, err := scan.OpenTree(s.Root)
	if err != nil {
		return err
	}
	defer t.Close()
	if bundles {
		if inv.Bundles, err = scan.Bundles(t, s.State, s.ContainerdRoot); err != nil {
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

// fileReader takes what a class is about from the scene's files.
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

func readRuncStates(inv *Inventory, t *scan.Tree, s Scene) (err error) {
	inv.RuncStates, err = scan.RuncStates(t, s.RuncRoot)
	return err
}

// Process finds a process by its pid.
func (inv Inventory) Process(pid int) (Process, bool) {
	i := slices.IndexFunc(inv.Processes, func(p Process) bool { return p.PID == pid })
	if i < 0 {
		return Process{}, false
	}
	return inv.Processes[i], true
}

// Bundle finds the bundle of a task, hidden or not, in the state directory.
func (inv Inventory) Bundle(ns, id string) (Bundle, bool) {
	i := slices.IndexFunc(inv.Bundles, func(b Bundle) bool {
		return !b.Work && b.ID == id && (ns == "" || b.Namespace == ns)
	})
	if i < 0 {
		return Bundle{}, false
	}
	return inv.Bundles[i], true
}

// Shim finds the serving shim of that id.
func (inv Inventory) Shim(ns, id string) (Process, bool) {
	i := slices.IndexFunc(inv.Processes, func(p Process) bool {
		return p.Shim != nil && p.Shim.Action == "" && p.Shim.ID == id && (ns == "" || p.Shim.Namespace == ns)
	})
	if i < 0 {
		return Process{}, false
	}
	return inv.Processes[i], true
}
