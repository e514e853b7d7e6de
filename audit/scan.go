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
	"time"

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
	l := &nodeScan{Options: o}
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
	table *processTable
}

func (l *nodeScan) take(ctx context.Context) (*Node, error) {
	n := &Node{Taken: time.Now()}
	limited, cancel := context.WithTimeout(ctx, ownTime+(timeoutsOfLists+timeoutsOfTasks)*l.Timeout)
	defer cancel()
	table, err := readProcesses(limited, l.Options)
	if err != nil {
		return nil, err
	}
	l.table = table
	ofRoot, ofUsers, err := l.groups(limited)
	if err != nil {
		return nil, err
	}
	for _, p := range table.candidates {
		if p.notRoots != "" {
			n.Untrusted = append(n.Untrusted, Untrusted{PID: p.PID, Why: p.notRoots})
		}
	}
	refused := l.views(ctx, limited, ofRoot, n)
	if l.Untrusted {
		short, cancel := context.WithTimeout(ctx, userTime)
		defer cancel()
		l.views(ctx, short, slices.Concat(ofUsers, refused), n)
	}
	for i, u := range n.Untrusted {
		n.Untrusted[i].Examined = slices.ContainsFunc(n.Views, func(v *View) bool {
			return v.Untrusted == u.PID && len(v.Daemons) > 0
		})
	}
	slices.SortStableFunc(n.Untrusted, func(a, b Untrusted) int { return cmp.Compare(a.PID, b.PID) })
	n.Notes = append(n.Notes, table.unread...)
	if d := table.denied; len(d) > 0 {
		n.Notes = append(n.Notes, fmt.Sprintf("processes %s could not be read: %s", pids(d), privileges))
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

// views takes the views of some groups until limited ends. It returns a group for each
// containerd of root that was not trusted.
func (l *nodeScan) views(ctx, limited context.Context, groups []*group, n *Node) (refused []*group) {
	type look struct {
		*group
		*View
		err error
	}
	looks := make([]look, len(groups))
	for i, g := range groups {
		looks[i].group = g
	}
	each(viewsAtOnce, looks, func(v *look) { v.View, v.err = l.anyView(ctx, limited, v.group) })
	for _, v := range looks {
		if v.err != nil {
			n.Notes = append(n.Notes, v.err.Error())
			_, hangs := errors.AsType[*hangError](v.err)
			n.late = n.late || hangs || errors.Is(v.err, errStillReading) || errors.Is(v.err, context.DeadlineExceeded)
			continue
		}
		n.Views = append(n.Views, v.View)
		for _, r := range v.refused {
			n.Untrusted = append(n.Untrusted, Untrusted{PID: r.PID, Why: r.why})
			refused = append(refused, &group{
				place: v.place, anchor: r.PID, user: r.Process, daemons: []*Process{r.Process}, shims: v.shims,
			})
		}
	}
	return refused
}

// anyView takes the view through the first process of a group that still runs. It returns
// an error if all have exited. When limited ends, the view opens no more files. It may
// then take as long as a hanging read to return its state.
func (l *nodeScan) anyView(ctx, limited context.Context, g *group) (*View, error) {
	anchors := []int{g.anchor}
	for _, p := range g.shims {
		anchors = append(anchors, p.PID)
	}
	for _, pid := range anchors {
		root := filepath.Join(l.table.dir(pid), "root")
		v, err := attempt(ctx, root, l.hangs+l.Timeout, func(at func(string)) (*View, error) {
			w := viewing{nodeScan: l, group: g, at: at, View: newView(root, g.pidns)}
			return w.View, w.take(limited, pid)
		})
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return v, err
		}
	}
	return nil, fmt.Errorf("process %d and all others with its root exited during the scan",
		anchors[0])
}
