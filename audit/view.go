package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/quote"
)

// viewing takes one view.
type viewing struct {
	*nodeScan
	*View
	group *group
	at    func(what string) // notes the next step
	whole *scan.Tree        // the files of the view's owner
	tree  *scan.Tree        // the same files, for a walk with limits
	owner scan.Owner
	dirs  []places // the existing state and root directories

	budget *scan.Budget // the limits of the walk

	holds     map[uint64]bool // the sockets of root's processes, read when needed
	heldByAll bool            // holds has the sockets of all processes of root
	others    []string        // the top cgroups of other containerds (territory)
}

func (w *viewing) take(ctx context.Context, anchor int) error {
	w.at(w.Root)
	w.Blind = len(w.table.unread) > 0
	tree, err := scan.OpenTree(w.Root)
	if err != nil {
		return fmt.Errorf("look into the root of process %d: %w: %s", anchor, err, privileges)
	}
	defer tree.Close()
	depth := w.table.depth(anchor)
	if depth > 0 {
		w.Name = fmt.Sprintf("in the container of process %d", w.table.top(anchor))
	}
	if u := w.group.user; u != nil {
		w.owner = scan.Owner{UID: u.UID, Shared: true}
		w.View.Untrusted = u.PID
		w.Name = fmt.Sprintf("as process %d of uid %d has it", u.PID, u.UID)
	}
	w.whole = tree.Of(w.owner)
	sockets, err := w.listening(anchor)
	if err != nil {
		return err
	}
	_ = w.walk(ctx, func() error {
		for _, c := range w.group.daemons {
			w.daemon(c)
		}
		w.dirs = w.statesOf()
		return nil
	})
	if w.View.Untrusted != 0 && len(w.Daemons) == 0 { // there is no containerd to compare with
		w.Notes = append(w.Notes, fmt.Sprintf("process %d was not examined: %s", w.View.Untrusted, w.refused[0].why))
		w.refused = nil
		return nil
	}
	w.processes(anchor, depth, sockets)
	// The audit asks containerd before it reads the disk. A container that is removed in
	// between is then known without objects, which does not look like a leak.
	asker := asker{viewing: w, listening: sockets}
	defer asker.close()
	asker.all(ctx)
	w.Complete = w.complete()
	if err := w.files(ctx, sockets); err != nil {
		return err
	}
	asker.confirm(ctx)
	name(w.View)
	return nil
}

// The limits of a walk through the files of a view. A view has a walk for the
// configurations, and one for each kind of object on the disk, which share filesTime. A
// node has some hundred containers.
const (
	walkTime  = 10 * time.Second
	filesTime = 20 * time.Second
	maxWalked = 20_000
)

// part returns when a step must end: after the limit, or after half of the time that ctx
// still has. The other half is for later steps.
func part(ctx context.Context, limit time.Duration) time.Time {
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	return time.Now().Add(limit)
}

// walk reads files within limits. If it reaches a limit, it adds a note, and no suspect
// of the view is certain. That is no error.
func (w *viewing) walk(ctx context.Context, read func() error) error {
	w.budget = scan.NewBudget(part(ctx, walkTime), maxWalked, func(name string) { w.at(path.Join(w.Root, name)) })
	w.tree = w.whole.Within(w.budget)
	err := read()
	if cut := w.budget.Cut(); cut != nil {
		w.cut, w.Complete = true, false
		w.Notes = append(w.Notes, fmt.Sprintf("some files were not read, perhaps of running containers: %v", cut))
	}
	return err
}

// complete reports whether every containerd has responded, and every shim has a running
// containerd.
func (w *viewing) complete() bool {
	addresses := map[string]bool{}
	for _, d := range w.Daemons {
		if !d.Answered {
			return false
		}
		addresses[d.Address] = true
	}
	for _, p := range w.Processes {
		if p.Serves() && p.Shim.Address != "" && !addresses[p.Shim.Address] {
			return false
		}
	}
	for _, pid := range w.group.sharing {
		w.Notes = append(w.Notes, fmt.Sprintf("process %d is a containerd of another PID namespace with the same files:"+
			" checked kernel state only", pid))
	}
	return len(w.Daemons) > 0 && len(w.group.sharing) == 0 && len(w.refused) == 0 && !w.cut
}

// listening returns the listening sockets of the view's network namespace. The kernel
// does not escape a line break in a socket's name, so a user can forge a line in the
// kernel's list. The inode of a socket then appears twice, and a note reports it.
func (w *viewing) listening(anchor int) ([]scan.UnixSocket, error) {
	sockets, err := scan.Listeners(w.Proc, anchor)
	if err != nil {
		return nil, err
	}
	if n := repeated(sockets); n > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%s lists %s twice, so a user has forged lines in it",
			filepath.Join(w.Proc, strconv.Itoa(anchor), "net/unix"), quote.Count(n, "socket")))
	}
	return sockets, nil
}

// repeated returns the number of entries with the inode of an earlier entry.
func repeated(sockets []scan.UnixSocket) int {
	seen := make(map[uint64]bool, len(sockets))
	for _, s := range sockets {
		seen[s.Inode] = true
	}
	return len(sockets) - len(seen)
}

// processes adds the processes of the view, except for the shims of other groups.
func (w *viewing) processes(anchor, depth int, listening []scan.UnixSocket) {
	names := make(map[uint64]string, len(listening))
	for _, s := range listening {
		names[s.Inode] = s.Path
	}
	family := slices.Collect(maps.Values(w.table.byPID))
	if depth > 0 {
		family = w.table.family(w.table.top(anchor))
	}
	for _, known := range family {
		p := *known
		if p.Shim != nil && !slices.Contains(w.group.shims, known) {
			continue // a shim of another group
		}
		if depth > 0 {
			p.Inner = 0
		}
		if depth > 0 && depth < len(p.pids) {
			p.Inner = p.pids[depth]
		}
		for _, inode := range p.SocketInodes {
			if name := names[inode]; name != "" && p.Shim != nil {
				p.Listens = append(p.Listens, name)
			}
		}
		if p.Shim != nil && !w.isShim(p) {
			p.Shim = nil
		}
		w.Processes = append(w.Processes, p)
	}
	slices.SortFunc(w.Processes, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
}

// isShim reports whether a process with a shim's command line is really a shim. A shim
// runs in its bundle, has a shim's socket, or is a child of containerd.
func (w *viewing) isShim(p Process) bool {
	cwd, _ := strings.CutSuffix(p.Cwd, deleted)
	for _, at := range w.dirs {
		for _, parent := range scan.BundleParents {
			if cwd == path.Join(at.state, parent, p.Shim.Namespace, p.Shim.ID) {
				return true
			}
		}
	}
	return slices.ContainsFunc(p.Listens, w.isSocketOfShim) ||
		slices.ContainsFunc(w.Daemons, func(d Daemon) bool { return d.PID == p.Parent })
}

// abstractSockets is the prefix of the abstract sockets of shims before containerd 1.4.
const abstractSockets = "@/containerd-shim/"

// isSocketOfShim reports whether a name is the path or the abstract name of a shim's
// socket.
func (w *viewing) isSocketOfShim(name string) bool {
	if strings.HasPrefix(name, abstractSockets) || slices.Contains(w.socketDirs(), path.Dir(name)) {
		return true
	}
	for _, at := range w.dirs {
		for _, parent := range scan.BundleParents {
			if strings.HasPrefix(name, path.Join(at.state, parent)+"/") {
				return true
			}
		}
	}
	return false
}

// socketDirs returns the directories that may have shims' sockets. They are the directory
// s in each state directory, and for some releases the state directory itself.
func (w *viewing) socketDirs() []string {
	if w.View.Untrusted != 0 {
		return []string{path.Join(w.Daemons[0].State, "s")}
	}
	out := []string{"/run/containerd/s"}
	for _, d := range w.Daemons {
		if own := path.Join(d.State, "s"); !slices.Contains(out, own) {
			out = append(out, own)
		}
	}
	return out
}
