package audit

import (
	"cmp"
	"time"

	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// Node is the state of a node at one time.
type Node struct {
	Taken time.Time `json:"taken"`
	Views []*View   `json:"views"`
	// Untrusted are the processes that the audit does not trust as containerds.
	Untrusted []Untrusted `json:"untrusted,omitempty"`
	// Notes name the parts that could not be read, with the reasons.
	Notes []string `json:"notes,omitempty"`

	late bool // a view is missing, because it took too long
}

// Untrusted is a process that looks like a containerd, but that a user of the node may
// control.
type Untrusted struct {
	PID int    `json:"pid"`
	Why string `json:"why"` // "uid 1000"
	// Examined is set if it has a view because of Options.Untrusted.
	Examined bool `json:"examined,omitempty"`
}

// View is one root directory with one PID namespace, and their containerds and shims. It
// is the node itself, or a container that is a node (kind, docker in docker).
type View struct {
	// Root is the path of the root directory for the auditor, such as /proc/1234/root.
	Root string `json:"root"`
	// PIDNS is the PID namespace, such as pid:[4026531836].
	PIDNS      string             `json:"pidNamespace"`
	Daemons    []Daemon           `json:"containerds,omitempty"`
	Processes  []Process          `json:"processes,omitempty"`
	Sockets    []inventory.Socket `json:"sockets,omitempty"`
	Bundles    []inventory.Bundle `json:"bundles,omitempty"`
	RuncStates []State            `json:"runcStates,omitempty"`
	Mounts     []inventory.Mount  `json:"mounts,omitempty"`
	Cgroups    []Cgroup           `json:"cgroups,omitempty"`
	// Changed has the times of the last changes of the sockets, bundles and runc's states
	// without a task, by path.
	Changed map[string]time.Time `json:"changed,omitempty"`
	// Namespaces are the containerd namespaces that its containerds list or that Known has.
	Namespaces map[string]bool `json:"namespaces"`
	Known      map[Key]Known   `json:"known"`
	// Complete is set if every containerd of the view has responded, and every shim has a
	// running containerd. An object that is not in Known is then a leak.
	Complete bool `json:"complete"`
	// Blind is set if a process of root could not be read. A missing process is then no
	// proof, so objects without a process are not reported.
	Blind bool `json:"blind,omitempty"`
	// Peers are the containerds of other views that may have made cgroups in this view.
	Peers []int `json:"peers,omitempty"`
	// Untrusted is the pid of the user's containerd of this view, or 0 for root's
	// containerds.
	Untrusted int `json:"untrusted,omitempty"`
	// Notes name the parts of this view that could not be read.
	Notes []string `json:"notes,omitempty"`

	// Name is the name of the view in reports, or "" for the node itself.
	Name string `json:"name,omitempty"`

	refused []*Process // that are not trusted as containerds (notRoots)
	cut     bool       // a walk has reached its limits
}

// Daemon is one containerd.
type Daemon struct {
	PID     int           `json:"pid"`
	Exe     string        `json:"exe"`
	Age     time.Duration `json:"ageNs"`
	Address string        `json:"address"`
	inventory.Places
	Version string `json:"version"` // "v2.3.7"; "" if it is not known
	// Replaced is set if the binary on the disk is another file, because of an upgrade
	// without a restart.
	Replaced bool `json:"replaced,omitempty"`
	// Answered is set if it responded to every call. Otherwise Error names the failed call.
	Answered bool   `json:"answered"`
	Error    string `json:"error,omitempty"`
	CRI      bool   `json:"cri,omitempty"`

	conn *grpc.ClientConn // nil without a connection
}

// Process is a process of a view. Its pid is the pid in the PID namespace of the audit.
type Process struct {
	inventory.Process
	Inner int           `json:"inner,omitempty"` // its pid as its containerd sees it
	UID   int           `json:"uid"`             // the real uid; 0 for a zombie
	Age   time.Duration `json:"ageNs"`
	// Listens are the sockets on which a shim listens, even if the file is gone.
	Listens []string `json:"listens,omitempty"`
	// Cwd is a shim's working directory: its bundle. The kernel adds " (deleted)" if it is
	// gone.
	Cwd string `json:"cwd,omitempty"`

	notRoots string   // why it does not count as a process of root; "" if it does.
	pids     []uint64 // its pids, from the auditor's PID namespace to its own.
	where    *places  // the paths in its command line, if it may be a containerd.
	dir      string   // its folder in /proc, while it is read
	place             // of a shim or a containerd
	denied   bool     // the auditor may not read it
}

// served returns the container for which a shim was started.
func (p *Process) served() Key { return Key{p.Shim.Namespace, p.Shim.ID} }

// Key identifies an object of containerd.
type Key inventory.Ref

// MarshalText returns NAMESPACE/ID, so that a Key can be the key of a JSON object.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.Namespace + "/" + k.ID), nil }

// isValid reports whether a namespace and a container may have these names.
func (k Key) isValid() bool { return scan.IsName(k.Namespace) && scan.IsName(k.ID) }

// State is runc's state of a container.
type State struct {
	inventory.RuncState
	// PID and Start identify the container's init, from runc's state.json. They are 0 if
	// that file cannot be read.
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"`
}

// Cgroup is a cgroup with the name of a container. It has no age, because the kernel does
// not keep one.
type Cgroup struct {
	Path  string `json:"path"` // relative to the root of the hierarchy
	Key   Key    `json:"key"`  // the namespace is "" if the path does not name it
	Procs []int  `json:"procs,omitempty"`
}

// Known has the records of the containerds of a view about one name.
type Known struct {
	Container *inventory.ContainerDetails `json:"container,omitempty"`
	// The status of a task is UNKNOWN if its shim does not respond to containerd.
	Task    *inventory.Task `json:"task,omitempty"`
	Sandbox bool            `json:"sandbox,omitempty"`
	// CRI is the state in CRI's list of pods or of containers.
	CRI string `json:"cri,omitempty"`
	// Found is set if the node has a shim, a bundle or a runc state with this name.
	Found bool `json:"found,omitempty"`
}

// criNamespace is the containerd namespace of CRI's pods and containers.
const criNamespace = "k8s.io"

// know adds to what is known by a name.
func (v *View) know(k Key, more Known) {
	is := v.Known[k]
	v.Namespaces[k.Namespace] = true
	v.Known[k] = Known{cmp.Or(more.Container, is.Container), cmp.Or(more.Task, is.Task), more.Sandbox || is.Sandbox,
		cmp.Or(more.CRI, is.CRI), more.Found || is.Found}
}

// runs reports whether containerd has a task or a sandbox.
func (is Known) runs() bool { return is.Task != nil || is.Sandbox }

// ids returns the ids of tasks and sandboxes.
func (v *View) ids() map[string]bool {
	out := map[string]bool{}
	for k, is := range v.Known {
		if is.runs() {
			out[k.ID] = true
		}
	}
	return out
}
