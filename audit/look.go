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

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Options say what to look at. The zero value is the whole node.
type Options struct {
	// Proc is the procfs. Default: /proc.
	Proc string
	// PID limits the audit to the root and the PID namespace of that process: of one
	// containerd, or of process 1 of a container that is a node.
	PID int
	// Timeout is how long containerd may take to answer one question. Default: 5 s.
	Timeout time.Duration
	// Settle is the time between the two looks. Default: 3 s.
	Settle time.Duration
	// Untrusted examines also the containerds that a user may have faked. Their suspects
	// are never certain.
	Untrusted bool

	hangs time.Duration // how long one read may take; default below
}

func (o Options) withDefaults() Options {
	o.Proc = cmp.Or(o.Proc, "/proc")
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.Settle = cmp.Or(o.Settle, 3*time.Second)
	o.hangs = cmp.Or(o.hangs, hangs)
	return o
}

// hangs is how long a read of one process or directory may take. A longer read hangs in
// the kernel and cannot be ended from here: the audit goes on without it.
const hangs = 5 * time.Second

// A look asks each containerd for its lists for at most timeoutsOfLists times
// Options.Timeout, and then for single tasks for timeoutsOfTasks times. All else may take
// ownTime. The containerds of users together have userTime for all.
const (
	timeoutsOfLists = 3
	timeoutsOfTasks = 2
	ownTime         = 30 * time.Second
	userTime        = 10 * time.Second
)

// privileges tells an operator how to let the audit read everything.
const privileges = "run the audit as root, in a container with hostPID and the capability SYS_PTRACE"

// Look takes a Node. It notes each thing that it could not read in time. The error says
// that nothing could be seen.
func Look(ctx context.Context, o Options) (*Node, error) {
	o = o.withDefaults()
	l := &look{Options: o, now: time.Now()}
	limited, cancel := context.WithTimeout(ctx, ownTime+(timeoutsOfLists+timeoutsOfTasks)*o.Timeout)
	defer cancel()
	node, err := l.take(limited)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return node, err
}

// look is one look. The table is complete before the first view, and only read by views.
type look struct {
	Options
	now   time.Time
	table *processTable
}

func (l *look) take(ctx context.Context) (*Node, error) {
	n := &Node{Taken: l.now}
	table, err := readProcesses(ctx, l.Options)
	if err != nil {
		return nil, err
	}
	l.table = table
	groups, err := l.groups(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range table.candidates {
		if c.p.notRoots != "" {
			n.Untrusted = append(n.Untrusted, Untrusted{PID: c.p.PID, Why: c.p.notRoots})
		}
	}
	late := l.views(ctx, groups, n)
	n.Notes = append(n.Notes, table.unread...)
	if d := table.denied; len(d) > 0 {
		n.Notes = append(n.Notes, fmt.Sprintf("processes %s may not be looked at: %s", firstPIDs(d), privileges))
	}
	if len(n.Views) == 0 && len(n.Notes) > 0 && !late {
		if len(table.candidates) == 0 { // so it was the root of process 1, or of --pid
			return n, fmt.Errorf("no containerd runs here, and what one has left could not be looked for: %s,"+
				" or name a process that you may look at: --pid %d", n.Notes[0], os.Getppid())
		}
		return n, fmt.Errorf("nothing could be looked at: %s", n.Notes[0])
	}
	return n, nil
}

// viewsAtOnce is how many views are taken at the same time. A slow containerd must not
// keep the other views from being taken.
const viewsAtOnce = 8

// views takes the views of root's containerds. With Options.Untrusted it then takes those
// of users, and one for each containerd of root's that was refused. It reports whether a
// view of root's took too long.
func (l *look) views(ctx context.Context, groups []*group, n *Node) (late bool) {
	users := slices.IndexFunc(groups, func(g *group) bool { return g.user != nil })
	if users < 0 {
		users = len(groups)
	}
	refused, late := l.viewsOf(ctx, groups[:users], n)
	if l.Untrusted {
		short, cancel := context.WithTimeout(ctx, userTime)
		defer cancel()
		_, _ = l.viewsOf(short, slices.Concat(groups[users:], refused), n)
	}
	for i, u := range n.Untrusted {
		n.Untrusted[i].Examined = slices.ContainsFunc(n.Views, func(v *View) bool {
			return v.Untrusted == u.PID && len(v.Daemons) > 0
		})
	}
	n.Notes = append(n.Notes, l.notAskedPeers(n.Views)...)
	slices.SortStableFunc(n.Untrusted, func(a, b Untrusted) int { return cmp.Compare(a.PID, b.PID) })
	return late
}

func (l *look) viewsOf(ctx context.Context, groups []*group, n *Node) (refused []*group, late bool) {
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
			hangs := new(hangError)
			late = late || errors.As(errs[i], &hangs) || errors.Is(errs[i], errStillReading) ||
				errors.Is(errs[i], context.DeadlineExceeded)
			continue
		}
		n.Views = append(n.Views, v)
		for _, r := range v.refused {
			n.Untrusted = append(n.Untrusted, Untrusted{PID: r.p.PID, Why: r.why})
			refused = append(refused, &group{
				place: groups[i].place, anchor: r.p.PID, user: r.p, daemons: []candidate{r.candidate}, shims: groups[i].shims,
			})
		}
	}
	return refused, late
}

// anyView looks from the first process of a group that still lives. Where all have ended
// there is nothing to be seen.
func (l *look) anyView(ctx context.Context, g *group) (*View, error) {
	anchors := []int{g.anchor}
	for _, p := range g.shims {
		anchors = append(anchors, p.PID)
	}
	type answer struct {
		*View
		error
	}
	for _, pid := range anchors {
		root := filepath.Join(l.Proc, itoa(pid), "root")
		whole, cancel := afterwards(ctx)
		defer cancel()
		got, err := attempt(whole, root, l.hangs+l.Timeout, func(at func(string)) answer {
			w := viewing{look: l, group: g, at: at, View: &View{Root: root, PIDNS: g.pidns}}
			return answer{w.View, w.take(ctx, pid)}
		})
		if err = cmp.Or(err, got.error); err == nil {
			return got.View, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("process %d and all that shared its root have ended while they were looked at",
		anchors[0])
}

// graceTime is how much longer a view may take than its context says. A view that the
// end of its context has cut off is reported, as far as it came.
const graceTime = 2 * time.Second

// afterwards returns a context that ends graceTime after the deadline of another one, or
// when the other one is cancelled.
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

// notAskedPeers notes the peers of views that Options.PID leaves out.
func (l *look) notAskedPeers(views []*View) []string {
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
