package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/quote"
)

// viewing takes one view.
type viewing struct {
	*processTable
	*View
	group     *group
	at        func(what string) // notes the next step
	whole     *scan.Tree        // the files of the view's owner
	tree      *scan.Tree        // the same files, for a walk with limits
	owner     scan.Owner
	dirs      []inventory.Places // the existing state and root directories
	listening []scan.UnixSocket
	mu        sync.Mutex // of View.Known and View.Notes, during concurrent calls

	budget *scan.Budget // the limits of the walk
	others []string     // the top cgroups of other containerds (territory)
}

// note adds a note to the view.
func (w *viewing) note(format string, args ...any) {
	w.Notes = append(w.Notes, fmt.Sprintf(format, args...))
}

func (w *viewing) take(ctx context.Context, anchor int) error {
	w.at(w.Root)
	w.Blind = len(w.unread) > 0
	tree, err := scan.OpenTree(w.Root)
	if err != nil {
		return fmt.Errorf("look into the root of process %d: %w: %s", anchor, err, privileges)
	}
	defer tree.Close()
	family, depth := slices.Collect(maps.Values(w.byPID)), 0
	if p := w.byPID[anchor]; p != nil && p.depth() > 0 {
		family, depth = w.family(p), p.depth()
		w.Name = fmt.Sprintf("in the container of process %d", family[0].PID)
	}
	if u := w.group.user; u != nil {
		w.owner = scan.Owner{UID: u.UID, Shared: true}
		w.View.Untrusted = u.PID
		w.Name = fmt.Sprintf("as process %d of uid %d has it", u.PID, u.UID)
	}
	w.whole = tree.Of(w.owner)
	if err := w.listen(anchor); err != nil {
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
		w.note("process %d was not examined: %s", w.View.Untrusted, w.refused[0].notRoots)
		w.refused = nil
		return nil
	}
	w.processes(family, depth)
	// The audit asks containerd before it reads the disk. A container that is removed in
	// between is then known without objects, which does not look like a leak.
	defer w.close()
	w.ask(ctx)
	w.Complete = w.complete()
	if err := w.files(ctx); err != nil {
		return err
	}
	w.confirm(ctx)
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
		w.note("some files were not read, perhaps of running containers: %v", cut)
	}
	return err
}

// complete reports whether every containerd has responded, and every shim has a running
// containerd. No containerd of another PID namespace may have the same root. Its files
// are in this view, and its shims are not.
func (w *viewing) complete() bool {
	isShared := false
	for _, c := range w.candidates {
		if w.View.Untrusted == 0 && c.notRoots == "" && c.root == w.group.root && c.pidns != w.group.pidns {
			isShared = true
			w.note("process %d is a containerd of another PID namespace with the same files: checked kernel state only", c.PID)
		}
	}
	return len(w.Daemons) > 0 && !slices.ContainsFunc(w.Daemons, func(d Daemon) bool { return !d.Answered }) &&
		orphaned(w.View) == "" && !isShared && len(w.refused) == 0 && !w.cut
}

// listen reads the listening sockets of the view's network namespace. The kernel does not
// escape a line break in a socket's name, so a user can forge a line in the kernel's
// list. The inode of a socket then appears twice, and a note reports it.
func (w *viewing) listen(anchor int) (err error) {
	if w.listening, err = scan.Listeners(w.Proc, anchor); err != nil {
		return err
	}
	if n := len(w.listening) - len(scan.ByInode(w.listening)); n > 0 {
		w.note("%s lists %s twice, so a user has forged lines in it",
			filepath.Join(w.dir(anchor), "net/unix"), quote.Count(n, "socket"))
	}
	return nil
}

// processes adds the processes of the view, except for the shims of other groups.
func (w *viewing) processes(family []*Process, depth int) {
	sockets := scan.ByInode(w.listening)
	for _, known := range family {
		p := *known
		if p.Shim != nil && !slices.Contains(w.group.shims, known) {
			continue // a shim of another group
		}
		if depth > 0 {
			p.Inner = int(slices.Concat(p.pids, make([]uint64, depth+1))[depth]) // 0 if it has no pid there
		}
		for _, inode := range p.SocketInodes {
			if s, listens := sockets[inode]; listens && p.Shim != nil {
				p.Listens = append(p.Listens, s.Path)
			}
		}
		if p.Shim != nil && w.isShim(p) {
			w.know(p.served(), Known{Found: true})
		} else {
			p.Shim, p.Argv = nil, nil // the command line of a container may have secrets
		}
		w.Processes = append(w.Processes, p)
	}
	slices.SortFunc(w.Processes, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
}

// isShim reports whether a process with a shim's command line is really a shim. A shim
// runs in its bundle, has a shim's socket, or is a child of containerd.
func (w *viewing) isShim(p Process) bool {
	cwd, _ := strings.CutSuffix(p.Cwd, deleted)
	if w.ownerOf(cwd) == p.served() {
		return true
	}
	return slices.ContainsFunc(p.Listens, w.isSocketOfShim) ||
		slices.ContainsFunc(w.Daemons, func(d Daemon) bool { return d.PID == p.Parent })
}

// abstractSockets is the prefix of the abstract sockets of shims before containerd 1.4.
const abstractSockets = "@/containerd-shim/"

// isSocketOfShim reports whether a name is the path or the abstract name of a shim's
// socket.
func (w *viewing) isSocketOfShim(name string) bool {
	return strings.HasPrefix(name, abstractSockets) || slices.Contains(w.socketDirs(), path.Dir(name)) ||
		w.ownerOf(name) != Key{}
}

// ownerOf returns the container of a path in a bundle or in a directory of CRI, if it is
// in one of the view's directories.
func (w *viewing) ownerOf(name string) Key {
	ns, id := scan.MountOwner(name)
	isIn := slices.ContainsFunc(w.dirs, func(p inventory.Places) bool {
		return strings.HasPrefix(name, p.State+"/") || strings.HasPrefix(name, p.Root+"/")
	})
	if k := (Key{ns, id}); isIn && k.isValid() {
		return k
	}
	return Key{}
}

// socketDirs returns the directories that may have shims' sockets.
func (w *viewing) socketDirs() []string {
	if w.View.Untrusted != 0 {
		return []string{path.Join(w.Daemons[0].State, "s")}
	}
	var states []string
	for _, d := range w.Daemons {
		states = append(states, d.State)
	}
	return inventory.SocketDirs(states...)
}
