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
	n := &Node{Taken: time.Now()}
	limited, cancel := context.WithTimeout(ctx, ownTime+(timeoutsOfLists+timeoutsOfTasks)*o.Timeout)
	defer cancel()
	table, err := readProcesses(limited, o)
	if err == nil {
		err = table.take(ctx, limited, n)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return n, err
}

// take takes the views of the node. It takes the views of root until limited ends.
func (t *processTable) take(ctx, limited context.Context, n *Node) error {
	ofRoot, ofUsers, err := t.groups(limited)
	if err != nil {
		return err
	}
	refused := t.views(ctx, limited, ofRoot, n)
	if t.Untrusted {
		short, cancel := context.WithTimeout(ctx, userTime)
		defer cancel()
		t.views(ctx, short, slices.Concat(ofUsers, refused), n)
	}
	users := slices.Clone(t.candidates)
	for _, g := range refused {
		users = append(users, g.user)
	}
	for _, p := range users {
		if p.notRoots != "" {
			isExamined := slices.ContainsFunc(n.Views, func(v *View) bool { return v.Untrusted == p.PID && len(v.Daemons) > 0 })
			n.Untrusted = append(n.Untrusted, Untrusted{p.PID, p.notRoots, isExamined})
		}
	}
	slices.SortStableFunc(n.Untrusted, func(a, b Untrusted) int { return cmp.Compare(a.PID, b.PID) })
	n.Notes = append(n.Notes, t.unread...)
	if d := t.denied; len(d) > 0 {
		n.Notes = append(n.Notes, fmt.Sprintf("processes %s could not be read: %s", first(d), privileges))
	}
	if len(n.Views) == 0 && len(n.Notes) > 0 && !n.late {
		if len(t.candidates) == 0 { // the scan then read the root of process 1, or of --pid
			return fmt.Errorf("no running containerd was found, and its usual folders could not be read: %s;"+
				" or audit the root of a process that you may read: --pid %d", n.Notes[0], os.Getppid())
		}
		return fmt.Errorf("the audit could read nothing: %s", n.Notes[0])
	}
	return nil
}

// viewsAtOnce is the number of views that are taken concurrently, so that a slow
// containerd does not block the others.
const viewsAtOnce = 8

// views takes the views of some groups until limited ends. It returns a group for each
// containerd of root that was not trusted.
func (t *processTable) views(ctx, limited context.Context, groups []*group, n *Node) (refused []*group) {
	each(viewsAtOnce, groups, func(g **group) { (*g).view, (*g).err = t.anyView(ctx, limited, *g) })
	for _, g := range groups {
		if g.err != nil {
			n.Notes = append(n.Notes, g.err.Error())
			n.late = n.late || errors.Is(g.err, errHangs) || errors.Is(g.err, errStillReading) ||
				errors.Is(g.err, context.DeadlineExceeded)
			continue
		}
		n.Views = append(n.Views, g.view)
		for _, r := range g.view.refused {
			refused = append(refused, &group{
				place: g.place, anchor: r.PID, user: r, daemons: []*Process{r}, shims: g.shims,
			})
		}
	}
	return refused
}

// anyView takes the view through the first process of a group that still runs. It returns
// an error if all have exited. When limited ends, the view opens no more files. It may
// then take as long as a hanging read to return its state.
func (t *processTable) anyView(ctx, limited context.Context, g *group) (*View, error) {
	anchors := []int{g.anchor}
	for _, p := range g.shims {
		anchors = append(anchors, p.PID)
	}
	for _, pid := range anchors {
		root := filepath.Join(t.dir(pid), "root")
		v, err := attempt(ctx, root, t.hangs+t.Timeout, func(at func(string)) (*View, error) {
			w := viewing{processTable: t, group: g, at: at, View: &View{
				Root: root, PIDNS: g.pidns, Changed: map[string]time.Time{}, Known: map[Key]Known{},
				Namespaces: map[string]bool{},
			}}
			return w.View, w.take(limited, pid)
		})
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return v, err
		}
	}
	return nil, fmt.Errorf("process %d and all others with its root exited during the scan",
		anchors[0])
}
