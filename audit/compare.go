package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Compare returns the objects of a Node whose owner is missing, as suspects. It does no
// I/O and uses no clock. Its cost is linear in the size of the node.
func Compare(n *Node) []Suspect {
	known, answered := map[string]bool{}, map[int]bool{}
	for _, v := range n.Views {
		if v.Untrusted != 0 {
			continue
		}
		for _, d := range v.Daemons {
			answered[d.PID] = v.Complete
		}
		maps.Copy(known, v.ids())
	}
	var out []Suspect
	for _, v := range n.Views {
		c := index(v)
		c.anywhere, c.taken = known, n.Taken
		c.peersAnswered = !slices.ContainsFunc(v.Peers, func(pid int) bool { return !answered[pid] })
		for _, k := range kinds {
			c.found = nil
			k.find(c)
			for _, s := range c.found {
				s.Kind = k.class
				if at, ok := v.Changed[s.Path]; ok {
					s.Changed = at
				}
				if !s.Changed.IsZero() {
					s.Age = max(n.Taken.Sub(s.Changed), 0).Round(time.Second)
				}
				if v.Untrusted != 0 {
					s.Sure = Likely
				}
				out = append(out, *s)
			}
		}
	}
	return fold(out)
}

// comparison has a view, and indexes of its objects.
type comparison struct {
	*View
	found    []*Suspect // of one kind
	taken    time.Time
	anywhere map[string]bool // the ids of tasks and sandboxes of any containerd on the node
	// peersAnswered is set if all peers have responded: the other containerds that may have
	// made a cgroup of this view.
	peersAnswered bool
	ids           map[string]bool // of tasks, sandboxes, containers and pods of this view
	byPID         map[int]*Process
	byInner       map[int]*Process
	shimOf        map[Key]*Process
	byAddress     map[string]*Process // shims, by the sockets on which they listen
	bundleOf      map[Key]*inventory.Bundle
	socketOf      map[string]Key  // the containers of shims' sockets, by file name
	named         map[string]bool // the addresses in the bundles of the state directory
	listening     map[string]bool // the sockets with a listener
	// busy has the shims that serve a task with another id, as the shim of a pod does.
	busy map[int]bool
	// helped has the containers for which a helper (shim start, shim delete) runs.
	helped map[Key]bool
}

func index(v *View) *comparison {
	c := &comparison{
		View: v, ids: map[string]bool{}, byPID: map[int]*Process{}, byInner: map[int]*Process{},
		shimOf: map[Key]*Process{}, byAddress: map[string]*Process{}, bundleOf: map[Key]*inventory.Bundle{},
		socketOf: map[string]Key{}, named: map[string]bool{}, listening: map[string]bool{}, busy: map[int]bool{},
		helped: map[Key]bool{},
	}
	for i := range v.Processes {
		p := &v.Processes[i]
		c.byPID[p.PID], c.byInner[p.Inner] = p, p
		if p.Shim != nil {
			c.socketOf[socketName(p.Shim.Address, p.served())] = p.served()
			c.helped[p.served()] = c.helped[p.served()] || p.Shim.Action != ""
		}
		if p.Serves() {
			c.shimOf[p.served()] = p
			for _, name := range p.Listens {
				c.byAddress[socketKey(name)] = p
			}
		}
	}
	for _, s := range v.Sockets {
		c.listening[socketKey(s.Path)] = s.Listening
	}
	for _, b := range v.Bundles {
		k := Key{b.Namespace, b.ID}
		c.addSockets(k)
		if !b.Work && !b.Hidden {
			c.bundleOf[k], c.named[socketKey(b.Address)] = &b, true
		}
	}
	for k, is := range v.Known {
		if p := c.server(k); p != nil && is.Task != nil {
			c.busy[p.PID] = true
		}
		if is.Container != nil {
			c.addSockets(k)
		}
		if is.Container != nil || is.runs() || strings.HasPrefix(is.CRI, "SANDBOX_") {
			c.ids[k.ID] = true
		}
	}
	return c
}

// addSockets notes the names of the sockets that the shim of a container may have.
func (c *comparison) addSockets(k Key) {
	for _, d := range c.Daemons {
		c.socketOf[socketName(d.Address, k)] = k
	}
}

// socketName returns the name of a shim's socket file: a hash of containerd's address,
// the namespace and the id (pkg/shim in containerd).
func socketName(address string, k Key) string {
	sum := sha256.Sum256([]byte(filepath.Join(address, k.Namespace, k.ID)))
	return hex.EncodeToString(sum[:])
}

// socketKey returns the same text for all forms of an address:
// unix:///run/containerd/s/ab, the path, and an abstract name with its @ or NUL.
func socketKey(address string) string {
	address = strings.TrimPrefix(address, "unix://")
	return strings.Trim(address, "@\x00")
}

// server returns the shim that serves a task. It is the shim with the task's id, the shim
// that listens on the bundle's address, or the parent of the task's process.
func (c *comparison) server(k Key) *Process {
	if p := c.shimOf[k]; p != nil {
		return p
	}
	if b := c.bundleOf[k]; b != nil && b.Address != "" {
		if p := c.byAddress[socketKey(b.Address)]; p != nil {
			return p
		}
	}
	if t := c.Known[k].Task; t != nil && t.PID != 0 && c.byInner[t.PID] != nil {
		if parent := c.byPID[c.byInner[t.PID].Parent]; parent != nil && parent.Serves() {
			return parent
		}
	}
	return nil
}

// task returns the value of the fact task: the status that containerd reports, or none.
func (c *comparison) task(k Key) string {
	if t := c.Known[k].Task; t != nil {
		return t.Status
	}
	if !c.Complete {
		return fact.NotAsked
	}
	return fact.None
}

// suspect reports a new suspect, with the view and the version of its containerd. The
// caller adds to it what its kind knows. By default the facts tell what is missing.
func (c *comparison) suspect(k Key, fs fact.Facts, missing ...string) *Suspect {
	if missing == nil {
		missing = missingBy(fs)
	}
	s := &Suspect{Sure: Likely, View: c.Name, Facts: fs.Cause(), Missing: missing}
	s.Namespace, s.ID = k.Namespace, k.ID
	if c.Complete {
		s.Sure = Certain
	}
	shim := c.shimOf[k]
	for _, d := range c.Daemons {
		if s.Version == "" || shim != nil && d.Address == shim.Shim.Address {
			s.Version = d.Version
		}
	}
	c.found = append(c.found, s)
	return s
}

// ofProcess reports a new suspect about a process.
func (c *comparison) ofProcess(k Key, p *Process, fs fact.Facts, missing ...string) *Suspect {
	s := c.suspect(k, fs, missing...)
	s.PID, s.Start, s.Age = p.PID, p.Start, p.Age
	may := []int{p.PID}
	if p.Shim != nil {
		may = p.Children
	}
	for _, pid := range may {
		if other := c.byPID[pid]; other != nil && !other.Zombie() {
			s.Living = append(s.Living, Living{PID: pid, Age: other.Age, Command: "[" + other.Comm + "]"})
		}
	}
	return s
}

// isDown reports whether no containerd of the view runs. Kernel state alone is then
// enough for some suspects.
func (c *comparison) isDown() bool { return len(c.Daemons)+len(c.refused) == 0 && !c.Blind }

// missingBy names the objects that the facts report as missing.
func missingBy(fs fact.Facts) (names []string) {
	for _, k := range []fact.Key{fact.Task, fact.Bundle, fact.Socket, fact.Shim} {
		if fs[k] == fact.None || fs[k] == fact.Gone {
			names = append(names, k.String())
		}
	}
	return names
}
