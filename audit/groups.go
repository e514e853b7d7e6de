package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/inventory"
)

// group has the containerds and the shims of one view. There may be shims without a
// running containerd.
type group struct {
	place
	anchor  int      // a process that has the view's root
	user    *Process // an untrusted containerd, with a view of its own, or nil
	daemons []*Process
	shims   []*Process

	view *View
	err  error // why there is no view
}

// place is a root directory in a PID namespace. Two roots count as the same if they have
// the same /run, because containerd's state and the shims' sockets are there.
type place struct {
	pidns string
	root  [2]uint64 // the device and the inode of /run, or zeros if it cannot be read
}

// maxUsers is the maximum number of users' containerds that are examined.
const maxUsers = 20

// groups returns the containerds and shims of root, grouped by place. With
// Options.Untrusted it also returns a group for each containerd of a user, with the shims
// of the same user.
func (t *processTable) groups(ctx context.Context) (ofRoot, ofUsers []*group, err error) {
	if err := t.checkPID(); err != nil {
		return nil, nil, err
	}
	byPlace := map[place]*group{}
	put := func(p *Process) *group {
		p.root = t.rootOf(ctx, p.PID)
		if byPlace[p.place] == nil {
			byPlace[p.place] = &group{place: p.place, anchor: p.PID}
		}
		return byPlace[p.place]
	}
	for _, c := range t.candidates {
		switch {
		case c.notRoots == "":
			g := put(c)
			g.daemons = append(g.daemons, c)
		case t.Untrusted && c.pidns != "" && len(ofUsers) < maxUsers && (t.PID == 0 || t.PID == c.PID):
			c.root = t.rootOf(ctx, c.PID)
			ofUsers = append(ofUsers, &group{place: c.place, anchor: c.PID, user: c, daemons: []*Process{c}})
		}
	}
	for _, p := range t.byPID {
		if p.Shim == nil || p.Zombie() || p.pidns == "" { // without a PID namespace it has just exited
			continue
		}
		if p.notRoots == "" {
			g := put(p)
			g.shims = append(g.shims, p)
			continue
		}
		for _, g := range ofUsers {
			if p.UID == g.user.UID && (place{p.pidns, t.rootOf(ctx, p.PID)}) == g.place {
				g.shims = append(g.shims, p)
			}
		}
	}
	anchor := cmp.Or(t.PID, 1)
	if p := t.byPID[anchor]; p != nil && p.notRoots != "" && t.PID != 0 {
		return nil, ofUsers, nil
	}
	own := place{inventory.Link(t.dir(anchor), "ns/pid"), t.rootOf(ctx, anchor)}
	maps.DeleteFunc(byPlace, func(at place, _ *group) bool { return t.PID != 0 && at != own })
	if len(byPlace) == 0 { // no containerd and no shim runs, but there may be files
		byPlace[own] = &group{place: own, anchor: anchor}
	}
	ofRoot = slices.SortedFunc(maps.Values(byPlace), func(a, b *group) int { return cmp.Compare(a.anchor, b.anchor) })
	return ofRoot, ofUsers, nil
}

// ErrEnded reports that the process of Options.PID does not exist.
var ErrEnded = errors.New("does not exist")

// checkPID returns an error if the audit cannot look from Options.PID.
func (t *processTable) checkPID() error {
	if t.PID == 0 {
		return nil
	}
	p := t.byPID[t.PID]
	switch {
	case p == nil:
		return fmt.Errorf("process %d %w: --pid needs the pid of a running process, such as containerd's", t.PID, ErrEnded)
	case p.notRoots == unreadable:
		return fmt.Errorf("this user may not read process %d: %s", t.PID, privileges)
	case p.notRoots != "" && !t.Untrusted:
		return fmt.Errorf("process %d does not belong to root (%s): add --untrusted to examine it", t.PID, p.notRoots)
	}
	return nil
}

// rootOf identifies the root of a process. The view of the root reports an error.
func (t *processTable) rootOf(ctx context.Context, pid int) [2]uint64 {
	name := filepath.Join(t.dir(pid), "root/run")
	root, _ := attempt(ctx, name, t.hangs, func(func(string)) ([2]uint64, error) {
		var st unix.Stat_t
		err := unix.Stat(name, &st)
		return [2]uint64{st.Dev, st.Ino}, err
	})
	return root
}
