package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/scan"
)

// Options say what to look at. The zero value is the whole node.
type Options struct {
	// Proc is the procfs. Default: /proc.
	Proc string
	// PID limits the audit to what shares root and PID namespace with that process: the
	// containerd that is meant, or process 1 of a container that is a node.
	PID int
	// Timeout is how long containerd may take to answer one question. Default: 5 s.
	Timeout time.Duration
	// Settle is the time between the two looks. Default: 3 s.
	Settle time.Duration

	hangs time.Duration // how long one read may take; default below
}

func (o Options) withDefaults() Options {
	o.Proc = cmp.Or(o.Proc, "/proc")
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.Settle = cmp.Or(o.Settle, 3*time.Second)
	o.hangs = cmp.Or(o.hangs, hangs)
	return o
}

// hangs is how long a look may be at one process or directory. What takes longer hangs in
// the kernel, and cannot be ended from here.
const hangs = 30 * time.Second

// privileges is what to do where something may not be read.
const privileges = "run the audit as root, in a container with hostPID and the capability SYS_PTRACE"

// Look takes a Node. It waits for a question to a containerd as long as Options.Timeout;
// one that does not answer is noted. The error says that nothing could be seen, or that
// the kernel did not let it read to the end.
func Look(ctx context.Context, o Options) (*Node, error) {
	o = o.withDefaults()
	if err := hung.check(o.Proc); err != nil {
		return nil, err
	}
	l := &look{Options: o, now: time.Now(), at: o.Proc, since: time.Now(), ended: make(chan struct{})}
	type answer struct {
		node *Node
		err  error
	}
	done := make(chan answer, 1)
	go func() { // it may hang in a read that nobody can end
		defer close(l.ended)
		node, err := l.take(ctx)
		done <- answer{node, err}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case a := <-done:
			return a.node, a.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
			if what, since := l.stuck(); since > o.hangs+o.Timeout {
				hung.keep(l)
				return nil, fmt.Errorf("reading %s has hung in the kernel for %s: look at that process (wchan, stack)"+
					" and audit again", what, since.Round(time.Second))
			}
		}
	}
}

// look is one look.
type look struct {
	Options
	now   time.Time
	table *processTable
	ended chan struct{} // closed when it has come back

	mu    sync.Mutex
	at    string
	since time.Time
}

// reading notes what is looked at next.
func (l *look) reading(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.since = what, time.Now()
}

// stuck is what is being looked at, and for how long.
func (l *look) stuck() (what string, since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at, time.Since(l.since)
}

func (l *look) take(ctx context.Context) (*Node, error) {
	n := &Node{Taken: l.now}
	table, err := readProcesses(l.Proc, l.reading)
	if err != nil {
		return nil, err
	}
	l.table = table
	if l.PID != 0 && table.byPID[l.PID] == nil {
		return nil, fmt.Errorf("there is no process %d: --pid is one that runs, such as containerd's", l.PID)
	}
	for _, g := range l.groups() {
		v, err := l.anyView(ctx, g)
		if err != nil {
			n.Notes = append(n.Notes, err.Error())
			continue
		}
		n.Views = append(n.Views, v)
	}
	if len(table.denied) > 0 {
		n.Notes = append(n.Notes, fmt.Sprintf("processes %v may not be looked at: %s", table.denied, privileges))
	}
	if len(n.Views) == 0 && len(n.Notes) > 0 {
		if len(table.candidates) == 0 { // so it was the root of process 1, or of --pid
			return n, fmt.Errorf("no containerd runs here, and what one has left could not be looked for: %s,"+
				" or name a process that you may look at: --pid %d", n.Notes[0], os.Getppid())
		}
		return n, fmt.Errorf("nothing could be looked at: %s", n.Notes[0])
	}
	return n, nil
}

// group are the processes of one view: containerds, and shims whose containerd may be
// down.
type group struct {
	anchor  int // a process that has the view's root
	pidns   string
	daemons []candidate
	shims   []*Process
}

// groups sorts containerds and shims by PID namespace and root. Two roots are the same
// where /run is: what a containerd keeps, and its shims' sockets, are there.
func (l *look) groups() []*group {
	byKey := map[string]*group{}
	var order []*group
	only := ""
	if l.PID != 0 {
		only = l.table.link(l.PID, "ns/pid") + " " + l.rootOf(l.PID)
	}
	put := func(p *Process) *group {
		key := p.pidns + " " + l.rootOf(p.PID)
		g := byKey[key]
		if g == nil {
			g = &group{anchor: p.PID, pidns: p.pidns}
			byKey[key] = g
			order = append(order, g)
		}
		return g
	}
	for _, c := range l.table.candidates {
		g := put(c.p)
		g.daemons = append(g.daemons, c)
	}
	for _, p := range l.table.byPID {
		if p.Shim == nil || p.Zombie() {
			continue
		}
		if p.pidns == "" {
			continue // it has just ended, or may not be looked at
		}
		g := put(p)
		g.shims = append(g.shims, p)
	}
	if only != "" {
		order = slices.DeleteFunc(order, func(g *group) bool { return g != byKey[only] })
	}
	if len(order) == 0 { // containerd is down and has left no shim: its files are still there
		anchor := cmp.Or(l.PID, 1)
		order = append(order, &group{anchor: anchor, pidns: l.table.link(anchor, "ns/pid")})
	}
	slices.SortFunc(order, func(a, b *group) int { return cmp.Compare(a.anchor, b.anchor) })
	return order
}

// rootOf names a process's root by its /run.
func (l *look) rootOf(pid int) string {
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(l.Proc, strconv.Itoa(pid), "root/run"), &st); err != nil {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino)
}

// anyView looks from the first process of a group that still lives. Where all have ended
// there is nothing to be seen.
func (l *look) anyView(ctx context.Context, g *group) (*View, error) {
	anchors := []int{g.anchor}
	for _, p := range g.shims {
		anchors = append(anchors, p.PID)
	}
	for _, pid := range anchors {
		g.anchor = pid
		v, err := l.view(ctx, g)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return v, err
		}
	}
	return nil, fmt.Errorf("process %d and all that shared its root have ended while they were looked at",
		anchors[0])
}

// view looks at one.
func (l *look) view(ctx context.Context, g *group) (*View, error) {
	v := &View{Root: filepath.Join(l.Proc, strconv.Itoa(g.anchor), "root"), PIDNS: g.pidns}
	l.reading(v.Root)
	t, err := scan.OpenTree(v.Root)
	if err != nil {
		return nil, fmt.Errorf("look into the root of process %d: %w: %s", g.anchor, err, privileges)
	}
	defer t.Close()
	depth := l.table.depth(g.anchor)
	if depth > 0 {
		v.Name = fmt.Sprintf("the container of process %d", l.table.top(g.anchor))
	}
	sockets, err := scan.Listeners(l.Proc, g.anchor)
	if err != nil {
		return nil, err
	}
	l.processes(v, g, depth, sockets)
	for _, c := range g.daemons {
		v.Daemons = append(v.Daemons, l.daemon(t, c))
	}
	// containerd is asked first: what it still knew is then rather gone from the disk than
	// the other way about.
	v.Known = newKnown()
	asker := asker{tree: t, timeout: l.Timeout, listening: sockets, table: l.table, at: l.reading}
	defer asker.close()
	asker.all(ctx, v)
	v.Complete = complete(v)
	if err := l.files(t, v, sockets); err != nil {
		return nil, err
	}
	asker.confirm(ctx, v)
	l.details(t, v)
	name(v)
	return v, nil
}

func (l *look) processes(v *View, g *group, depth int, listening []scan.UnixSocket) {
	names := make(map[uint64]string, len(listening))
	for _, s := range listening {
		names[s.Inode] = s.Path
	}
	family := []*Process{}
	if depth > 0 {
		family = l.table.family(l.table.top(g.anchor))
	} else {
		for _, p := range l.table.byPID {
			family = append(family, p)
		}
	}
	for _, p := range family {
		if p.Shim != nil && p.pidns != g.pidns {
			continue // of a containerd within a container
		}
		p.Inner = l.table.inner(p.PID, depth)
		for _, inode := range p.sockets {
			if name := names[inode]; name != "" {
				p.Listens = append(p.Listens, name)
			}
		}
		v.Processes = append(v.Processes, *p)
	}
	slices.SortFunc(v.Processes, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
}

// daemon is what can be known of a containerd without asking it.
func (l *look) daemon(t *scan.Tree, c candidate) Daemon {
	where := c.where
	where = where.or(places{config: defaults.config})
	if !path.IsAbs(where.config) {
		where.config = path.Join(l.table.link(c.p.PID, "cwd"), where.config)
	}
	where = where.or(configured(t, where.config)).or(defaults)
	d := Daemon{
		PID: c.p.PID, Exe: c.exe, Age: c.p.Age, Address: where.address, State: where.state, Root: where.root,
		Version: versionOf(filepath.Join(l.Proc, strconv.Itoa(c.p.PID), "exe")),
	}
	d.Replaced = len(c.exe) > len(deleted) && c.exe[len(c.exe)-len(deleted):] == deleted
	return d
}

// complete reports whether every containerd has answered, and every shim's is among them.
func complete(v *View) bool {
	addresses := map[string]bool{}
	for _, d := range v.Daemons {
		if !d.Answered {
			return false
		}
		addresses[d.Address] = true
	}
	for _, p := range v.Processes {
		if p.Serves() && p.Address != "" && !addresses[p.Address] {
			return false
		}
	}
	return len(v.Daemons) > 0
}

// changed is when a file was changed last; the zero time of one that is gone.
func changed(info fs.FileInfo) time.Time {
	if info == nil {
		return time.Time{}
	}
	return info.ModTime()
}

// socketDirs are where shims have their sockets, whatever containerd's state directory
// is, and in some releases in that.
func socketDirs(v *View) []string {
	out := []string{"/run/containerd/s"}
	for _, d := range v.Daemons {
		if own := path.Join(d.State, "s"); !slices.Contains(out, own) {
			out = append(out, own)
		}
	}
	return out
}
