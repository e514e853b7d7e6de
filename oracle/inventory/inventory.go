// Package inventory answers: what exists in a [Scene], the surroundings of one
// containerd? It reads processes, mounts, sockets, cgroups, handles and files, and asks
// containerd for its objects.
//
// It sends no signal and removes no file. Only [Collect] changes anything: it makes
// containerd collect its garbage.
package inventory

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/scan"
)

// Bundle is a directory NAMESPACE/ID of a shim.
type Bundle = scan.Bundle

// Dir is a directory of CRI for one pod or container.
type Dir = scan.Dir

// RuncState is runc's state directory of one container.
type RuncState = scan.RuncState

// Inventory lists everything that belongs to containerd in a scene, at one time.
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
	// Networks are the calls that the pods' CNI plugin has got so far.
	Networks []NetworkCall `json:"networks,omitempty"`
	Places   Places        `json:"places,omitzero"`
	// Handles has the handles of containerd, followed by the handles of each shim. It is
	// nil if they were not read.
	Handles []Handles `json:"handles,omitempty"`
	// Uncollected is why containerd did not collect its garbage on request. It is nil if
	// it did, or if it was not asked.
	Uncollected *callerr.Failed `json:"uncollected,omitempty"`
	// Daemon is nil if containerd was not asked: Scene.Client was nil.
	Daemon *Daemon `json:"daemon,omitempty"`
}

// First returns the first object that fulfils a condition.
func First[T any](all []T, is func(T) bool) (first T, ok bool) {
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return first, false
	}
	return all[i], true
}

// Process returns the process with that pid.
func (inv Inventory) Process(pid int) (Process, bool) {
	return First(inv.Processes, func(p Process) bool { return p.PID == pid })
}

// Bundle returns the bundle of a task in the state directory, also a hidden one.
func (inv Inventory) Bundle(ns, id string) (Bundle, bool) {
	return First(inv.Bundles, func(b Bundle) bool {
		return !b.Work && b.ID == id && (ns == "" || b.Namespace == ns)
	})
}

// Shim returns the shim with that id, and not one of its short-lived helpers.
func (inv Inventory) Shim(ns, id string) (Process, bool) {
	return First(inv.Processes, func(p Process) bool {
		return p.Shim != nil && p.Shim.Action == "" && p.Shim.ID == id && (ns == "" || p.Shim.Namespace == ns)
	})
}
