package audit

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// daemon adds a containerd to the view. It refuses a containerd if another user may write
// its binary, configuration, state, root or socket.
func (w *viewing) daemon(p *Process) {
	own := w.dir(p.PID)
	exe, wasReplaced := strings.CutSuffix(p.Exe, deleted)
	d := Daemon{PID: p.PID, Exe: p.Exe, Age: p.Age, Replaced: wasReplaced}
	if w.View.Untrusted == 0 {
		if err := w.checkBinary(own, exe); err != nil {
			w.refuse(p, err)
			return
		}
		version, is := build(filepath.Join(own, "exe"))
		if !is && path.Base(exe) != "containerd" {
			return // another program with this name: every user can start sudo with the name containerd
		}
		d.Version = version
	}
	where := p.where.or(places{config: defaults.config})
	if !path.IsAbs(where.config) {
		where.config = path.Join(inventory.Link(own, "cwd"), where.config)
	}
	said, err := configured(w.tree, where.config)
	where = where.or(said).or(defaults)
	d.Address, d.Places = where.address, where.Places
	for _, name := range []string{strings.TrimPrefix(d.Address, "unix://"), d.State, d.Root} {
		err = errors.Join(err, w.owned(name))
	}
	if why := distrusted(err); why != nil {
		w.refuse(p, why)
		return
	}
	if err != nil {
		w.note("the configuration of containerd (process %d): %v", d.PID, err)
	}
	w.Daemons = append(w.Daemons, d)
}

// refuse notes a process that the audit does not trust as a containerd, with the reason.
func (w *viewing) refuse(p *Process, why error) {
	users := *p
	users.notRoots = why.Error()
	w.refused = append(w.refused, &users)
	if w.View.Untrusted == 0 {
		w.note("containerd (process %d) is not trusted, because %v", p.PID, why)
	}
}

// owned returns an error if a file belongs to another user, or if the walk has reached
// its limits. A missing file is no error.
func (w *viewing) owned(name string) error {
	f, err := w.tree.Open(name, unix.O_PATH)
	if err == nil {
		return f.Close()
	}
	return distrusted(err)
}

// distrusted returns the first error about another user's file, or else about the limits
// of a walk.
func distrusted(err error) error {
	if notOwned, ok := errors.AsType[*scan.NotOwnedError](err); ok {
		return notOwned
	}
	if cut, ok := errors.AsType[*scan.CutError](err); ok {
		return cut
	}
	return nil
}

// checkBinary returns an error if other users may write or replace a program. own is the
// directory of its process in /proc. After an upgrade, exe is the path of the new
// program.
func (w *viewing) checkBinary(own, exe string) error {
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(own, "exe"), &st); err != nil {
		return fmt.Errorf("its binary could not be read: %w", err)
	}
	if st.Uid != 0 || st.Mode&unix.S_IWOTH != 0 || st.Mode&unix.S_IWGRP != 0 && st.Gid != 0 {
		return fmt.Errorf("users other than root may write its binary (uid %d, gid %d, mode %o)",
			st.Uid, st.Gid, st.Mode&0o7777)
	}
	return w.owned(exe)
}
