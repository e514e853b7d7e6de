package scan

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
)

// Owner is the user whose files a Tree opens.
type Owner struct {
	UID int
	// Shared allows folders and files that other users may write. For root it also allows
	// folders of other users.
	Shared bool
}

// NotOwnedError reports a file that another user owns or may replace.
type NotOwnedError struct {
	Path string // the file, or the folder or the symbolic link on the way to it
	Why  string // "is owned by uid 1000"
}

func (e *NotOwnedError) Error() string { return e.Path + " " + e.Why }

// Of returns a tree that opens only files of a user. Each folder and each symbolic link
// on the way to a file must be root's or the user's, and the file must be the user's.
// Closing t also closes the returned tree.
func (t *Tree) Of(o Owner) *Tree { return &Tree{fd: t.fd, owner: &o, budget: t.budget} }

// openOwned opens a file of the tree's owner: a directory or a regular file, unless the
// flags have O_PATH.
func (t *Tree) openOwned(name string, flags uint64) (*os.File, error) {
	f, err := t.handle(name, flags&unix.O_NOFOLLOW == 0)
	if err != nil || flags&unix.O_PATH != 0 {
		return f, err
	}
	defer f.Close() //nolint:errcheck // of O_PATH
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, &NotOwnedError{name, "is not a regular file"}
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), int(flags)&^unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// maxLinks is how many symbolic links a path may have (path_resolution(7)).
const maxLinks = 40

// handle returns an O_PATH descriptor of a file, after a check of each step to it. The
// descriptor's name is the path without symbolic links. One openat2(2) is not enough:
// through a symbolic link in another user's folder it would open a file of root.
func (t *Tree) handle(name string, follow bool) (*os.File, error) {
	w := walk{tree: t, todo: parts(name), follow: follow}
	defer w.close()
	root, err := unix.FcntlInt(uintptr(t.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	w.fds = []int{root}
	if _, err := w.check(root); err != nil {
		return nil, err
	}
	for len(w.todo) > 0 {
		if err := w.step(); err != nil {
			return nil, err
		}
	}
	last := len(w.fds) - 1
	f := os.NewFile(uintptr(w.fds[last]), w.path())
	w.fds = w.fds[:last]
	return f, nil
}

// walk resolves a path, part by part.
type walk struct {
	tree   *Tree
	follow bool     // also follow a link at the end of the path
	todo   []string // remaining parts of the path, also ".."
	names  []string // the resolved parts, without links
	fds    []int    // descriptors of the root and of each name
	links  int
}

func parts(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(part string) bool { return part == "" || part == "." })
}

func (w *walk) close() {
	for _, fd := range w.fds {
		_ = unix.Close(fd) // of O_PATH
	}
}

func (w *walk) pop(n int) {
	for range min(n, len(w.names)) {
		last := len(w.fds) - 1
		_ = unix.Close(w.fds[last]) // of O_PATH
		w.fds, w.names = w.fds[:last], w.names[:last-1]
	}
}

// step resolves the next part of the path.
func (w *walk) step() error {
	part := w.todo[0]
	w.todo = w.todo[1:]
	if part == ".." {
		w.pop(1)
		return nil
	}
	fd, err := foreign.Openat2(w.fds[len(w.fds)-1], part, unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS,
	})
	w.names = append(w.names, part)
	if err != nil {
		return &fs.PathError{Op: "open", Path: w.path(), Err: err}
	}
	w.fds = append(w.fds, fd)
	isLink, err := w.check(fd)
	if err != nil || !isLink || len(w.todo) == 0 && !w.follow {
		return err
	}
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "open", Path: w.path(), Err: unix.ELOOP}
	}
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", target)
	if err != nil {
		return &fs.PathError{Op: "readlink", Path: w.path(), Err: err}
	}
	up := 1
	if n > 0 && target[0] == '/' {
		up = len(w.names)
	}
	w.pop(up)
	w.todo = append(parts(string(target[:n])), w.todo...)
	return nil
}

// path returns the file that the walk has reached.
func (w *walk) path() string { return "/" + strings.Join(w.names, "/") }

// check returns an error for a file of another user, and whether the file is a symbolic
// link.
func (w *walk) check(fd int) (isLink bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, &fs.PathError{Op: "stat", Path: w.path(), Err: err}
	}
	isLink = st.Mode&unix.S_IFMT == unix.S_IFLNK
	if why := w.tree.owner.objects(fd, &st, len(w.todo) == 0); why != "" {
		return isLink, &NotOwnedError{w.path(), why}
	}
	return isLink, nil
}

// objects returns why a file is not the user's, or "". last is set for the file itself,
// and not for a folder or link on the way to it.
func (o *Owner) objects(fd int, st *unix.Stat_t, last bool) string {
	kind := st.Mode & unix.S_IFMT
	isFolderOfAny := o.Shared && o.UID == 0 && kind == unix.S_IFDIR
	if int(st.Uid) != o.UID && !isFolderOfAny && (st.Uid != 0 || last && kind != unix.S_IFLNK) {
		return fmt.Sprintf("is owned by uid %d", st.Uid)
	}
	if o.Shared {
		if kind == unix.S_IFREG && st.Nlink > 1 { // another user may link any file
			return "has another hard link"
		}
		return ""
	}
	if kind != unix.S_IFDIR && kind != unix.S_IFREG { // to write to a socket is only to connect
		return ""
	}
	if kind == unix.S_IFDIR && st.Mode&unix.S_ISVTX != 0 && !last {
		return "" // other users cannot replace root's files in a sticky folder
	}
	switch {
	case st.Mode&unix.S_IWOTH != 0:
		return "may be written by every user"
	case st.Mode&unix.S_IWGRP != 0 && st.Gid != 0:
		return fmt.Sprintf("may be written by group %d", st.Gid)
	case st.Mode&unix.S_IWGRP != 0 && hasACL(fd): // with an ACL, the bits of the group are its mask
		return "may be written by the users in its ACL"
	}
	return ""
}

func hasACL(fd int) bool {
	n, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", fd), "system.posix_acl_access", nil)
	return err == nil && n > 0
}
