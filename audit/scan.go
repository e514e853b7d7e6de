package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Options are the options of an audit. The zero value audits the whole node.
type Options struct {
	// Proc is the procfs. Default: /proc.
	Proc string
	// PID limits the audit to the root directory and the PID namespace of a process. That
	// can be a containerd, or process 1 of a container that is a node (kind).
	PID int
	// Timeout is the timeout of one call to containerd. Default: 5 s.
	Timeout time.Duration
	// Settle is the least time between the two scans of an audit. Default: 3 s.
	Settle time.Duration
	// Untrusted also examines containerds that a user may have faked. The leaks that the
	// audit reports there are never certain.
	Untrusted bool

	hangs time.Duration // the timeout of one read; default below
}

func (o Options) withDefaults() Options {
	o.Proc = cmp.Or(o.Proc, "/proc")
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.Settle = cmp.Or(o.Settle, 3*time.Second)
	o.hangs = cmp.Or(o.hangs, hangs)
	return o
}

// hangs is the timeout of a read of one process or directory. A longer read hangs in
// the kernel and cannot be ended, so the audit continues without it.
const hangs = 5 * time.Second

// The time limits of a scan. For each containerd, the calls that list objects take at
// most timeoutsOfLists * Options.Timeout. The calls for single tasks take at most
// timeoutsOfTasks * Options.Timeout. All other work has ownTime. The containerds of users
// share userTime.
const (
	timeoutsOfLists = 3
	timeoutsOfTasks = 2
	ownTime         = 30 * time.Second
	userTime        = 10 * time.Second
)

// privileges tells an operator how to let the audit read everything.
const privileges = "run the audit as root, in a container with hostPID and the capability SYS_PTRACE"

// Scan reads the state of the node. The notes name everything that it could not read in
// time. It returns an error if it could read nothing.
func Scan(ctx context.Context, o Options) (*Node, error) {
	o = o.withDefaults()
	l := &nodeScan{Options: o, now: time.Now()}
	node, err := l.take(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return node, err
}

// nodeScan is the state of one Scan. A view has the state of the containerds with the
// same root directory. The table is complete before the first view, and views
// only read it.
type nodeScan struct {
	Options
	now   time.Time
	table *processTable
}

func (l *nodeScan) take(ctx context.Context) (*Node, error) {
	n := &Node{Taken: l.now}
	limited, cancel := context.WithTimeout(ctx, ownTime+(timeoutsOfLists+timeoutsOfTasks)*l.Timeout)
	defer cancel()
	table, err := readProcesses(limited, l.Options)
	if err != nil {
		return nil, err
	}
	l.table = table
	groups, err := l.groups(limited)
	if err != nil {
		return nil, err
	}
	for _, c := range table.candidates {
		if c.notRoots != "" {
			n.Untrusted = append(n.Untrusted, Untrusted{PID: c.PID, Why: c.notRoots})
		}
	}
	l.views(ctx, limited, groups, n)
	n.Notes = append(n.Notes, table.unread...)
	if d := table.denied; len(d) > 0 {
		n.Notes = append(n.Notes, fmt.Sprintf("processes %s could not be read: %s", firstPIDs(d), privileges))
	}
	if len(n.Views) == 0 && len(n.Notes) > 0 && !n.late {
		if len(table.candidates) == 0 { // the scan then read the root of process 1, or of --pid
			return n, fmt.Errorf("no running containerd was found, and its usual folders could not be read: %s;"+
				" or audit the root of a process that you may read: --pid %d", n.Notes[0], os.Getppid())
		}
		return n, fmt.Errorf("the audit could read nothing: %s", n.Notes[0])
	}
	return n, nil
}

// viewsAtOnce is the number of views that are taken concurrently, so that a slow
// containerd does not block the others.
const viewsAtOnce = 8

// views takes the views of root's containerds. With Options.Untrusted, it then takes the
// views of users' containerds, and of each containerd of root that was not trusted.
// limited ends with the time for the views of root's containerds.
func (l *nodeScan) views(ctx, limited context.Context, groups []*group, n *Node) {
	users := slices.IndexFunc(groups, func(g *group) bool { return g.user != nil })
	if users < 0 {
		users = len(groups)
	}
	refused := l.viewsOf(limited, groups[:users], n)
	if l.Untrusted {
		short, cancel := context.WithTimeout(ctx, userTime)
		defer cancel()
		l.viewsOf(short, slices.Concat(groups[users:], refused), n)
	}
	for i, u := range n.Untrusted {
		n.Untrusted[i].Examined = slices.ContainsFunc(n.Views, func(v *View) bool {
			return v.Untrusted == u.PID && len(v.Daemons) > 0
		})
	}
	n.Notes = append(n.Notes, l.notAskedPeers(n.Views)...)
	slices.SortStableFunc(n.Untrusted, func(a, b Untrusted) int { return cmp.Compare(a.PID, b.PID) })
}

func (l *nodeScan) viewsOf(ctx context.Context, groups []*group, n *Node) (refused []*group) {
	views, errs := make([]*View, len(groups)), make([]error, len(groups))
	var all errgroup.Group
	all.SetLimit(viewsAtOnce)
	for i, g := range groups {
		all.Go(func() error {
			views[i], errs[i] = l.anyView(ctx, g)
			return nil
		})
	}
	_ = all.Wait() // no member fails
	for i, v := range views {
		if errs[i] != nil {
			n.Notes = append(n.Notes, errs[i].Error())
			_, hangs := errors.AsType[*hangError](errs[i])
			n.late = n.late || hangs || errors.Is(errs[i], errStillReading) ||
				errors.Is(errs[i], context.DeadlineExceeded)
			continue
		}
		n.Views = append(n.Views, v)
		for _, r := range v.refused {
			n.Untrusted = append(n.Untrusted, Untrusted{PID: r.PID, Why: r.why})
			refused = append(refused, &group{
				place: groups[i].place, anchor: r.PID, user: r.Process, daemons: []*Process{r.Process}, shims: groups[i].shims,
			})
		}
	}
	return refused
}

// anyView takes the view through the first process of a group that still runs. It returns
// an error if all have exited.
func (l *nodeScan) anyView(ctx context.Context, g *group) (*View, error) {
	anchors := []int{g.anchor}
	for _, p := range g.shims {
		anchors = append(anchors, p.PID)
	}
	type answer struct {
		*View
		error
	}
	for _, pid := range anchors {
		root := filepath.Join(l.Proc, strconv.Itoa(pid), "root")
		whole, cancel := afterwards(ctx)
		defer cancel()
		got, err := attempt(whole, root, l.hangs+l.Timeout, func(at func(string)) answer {
			w := viewing{nodeScan: l, group: g, at: at, View: &View{Root: root, PIDNS: g.pidns}}
			return answer{w.View, w.take(ctx, pid)}
		})
		if err = cmp.Or(err, got.error); err == nil {
			return got.View, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("process %d and all others with its root exited during the scan",
		anchors[0])
}

// graceTime is how long a view may still take to return the state that it has read when
// the context ends. It opens no more files then. To sort 20,000 bundles takes a second of
// an idle CPU, and took more than two on a busy machine.
const graceTime = 10 * time.Second

// afterwards returns a context that ends graceTime after the deadline of ctx, or when ctx
// is cancelled.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	later, cancel := context.WithDeadline(context.WithoutCancel(ctx), end.Add(graceTime))
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
		}
	})
	return later, func() { stop(); cancel() }
}

// notAskedPeers returns notes about the peers that Options.PID leaves out.
func (l *nodeScan) notAskedPeers(views []*View) []string {
	var notes []string
	asked := map[int]bool{}
	for _, v := range views {
		for _, d := range v.Daemons {
			asked[d.PID] = true
		}
	}
	for _, v := range views {
		if v.Untrusted != 0 {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(v.Peers), func(pid int) bool { return asked[pid] })
		if l.PID != 0 && len(left) > 0 {
			notes = append(notes, fmt.Sprintf("cgroups are not compared, because other containerds have the same hierarchy,"+
				" and --pid leaves them out: processes %s", firstPIDs(left)))
		}
	}
	return notes
}
