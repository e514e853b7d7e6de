package scan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
)

// ownTree returns a tree of the test's user. Other users may write or replace a part of
// it.
func ownTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	in := func(name string) string { return filepath.Join(root, name) }
	must := func(err error) {
		t.Helper()
		must.Succeed(t, err)
	}
	for name, mode := range map[string]fs.FileMode{
		"own": 0o755, "own/dir": 0o700, "open": 0o777, "tmp": 0o777 | fs.ModeSticky, "tmp/own": 0o755, "group": 0o775,
		"group/own": 0o755,
	} {
		must(os.MkdirAll(in(name), 0o755))
		must(os.Chmod(in(name), mode))
	}
	must(os.Chown(in("group"), -1, os.Getegid())) // a folder with the setgid bit would set another one
	for name, mode := range map[string]fs.FileMode{
		"own/file": 0o644, "own/dir/file": 0o600, "own/open": 0o666, "open/file": 0o644, "tmp/own/file": 0o644,
		"group/own/file": 0o644, "own/acl": 0o660,
	} {
		must(os.WriteFile(in(name), []byte("text"), 0o600))
		must(os.Chmod(in(name), mode))
	}
	must(os.Link(in("own/file"), in("own/twice")))
	for name, to := range map[string]string{
		"own/link": "dir/file", "own/up": "../own/../own/dir/file", "own/absolute": "/own/dir/file", "run": "/own",
		"own/through": "../open/file", "own/round": "round", "own/out": "../../../../../../own/dir/file",
		"own/gone": "nothing",
	} {
		must(os.Symlink(to, in(name)))
	}
	must(unix.Mkfifo(in("own/fifo"), 0o600))
	return root
}

func TestOwned(t *testing.T) {
	root := ownTree(t)
	tree := must.Get(OpenTree(root))(t)
	defer tree.Close()
	own := tree.Of(Owner{UID: os.Geteuid()})
	for name, want := range map[string]string{ // "": no error
		"/own/file": "", "own/dir/file": "", "/own/dir/../file": "", "own/link": "", "own/up": "", "own/absolute": "",
		"run/file": "", "run/link": "", "own/out": "", "tmp/own/file": "",
		"own/through": "/open may be written by every user", "open/file": "/open may be written by every user",
		"own/open": "/own/open may be written by every user", "own/fifo": "not a regular file",
		"own/round": "too many levels of symbolic links", "own/gone": "no such file", "own": "not a regular file",
	} {
		text, err := own.ReadLinked(name, 100)
		if want == "" && (err != nil || string(text) != "text") || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v; want %q", name, text, err, want)
		}
	}
	must.Fail(t, must.ErrorOf(own.ReadFile("own/link", 100)), "a link at the end was followed")
	f := must.Get(own.Open("run/link", unix.O_PATH))(t)
	defer f.Close() //nolint:errcheck // of O_PATH
	must.Equal(t, f.Name(), "/own/dir/file", "its path without links is")
}

// A file of another user is not opened, and a folder is not listed.
func TestOwnedByAnother(t *testing.T) {
	tree := must.Get(OpenTree(ownTree(t)))(t)
	defer tree.Close()
	notOwned := new(NotOwnedError)
	other := tree.Of(Owner{UID: os.Geteuid() + 1})
	for _, name := range []string{"own/file", "own/link", "own/dir"} {
		if _, err := other.Open(name, unix.O_PATH); !errors.As(err, &notOwned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := other.List("own"); !errors.As(err, &notOwned) {
		t.Errorf("%v, %v", list, err)
	}
	shared := tree.Of(Owner{UID: os.Geteuid(), Shared: true})
	must.Get(shared.ReadFile("open/file", 100))(t)
	// A user can make a hard link to any file in the user's own folder.
	if _, err := shared.ReadFile("own/twice", 100); !errors.As(err, &notOwned) {
		t.Errorf("a hard link: %v", err)
	}
}

// In a file with an ACL, the group's bits limit all users of the ACL.
func TestOwnedByGroup(t *testing.T) {
	o := Owner{UID: 7}
	st := unix.Stat_t{Mode: unix.S_IFREG | 0o660, Uid: 7}
	must.Equal(t, o.objects(-1, &st, true), "", "root's group")
	st.Gid = 5
	must.Equal(t, o.objects(-1, &st, true), "may be written by group 5", "a group")
	name := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(name, nil, 0o660))
	const user, owner, group, mask, others, noID = 2, 1, 4, 16, 32, 0xffffffff
	acl := binary.LittleEndian.AppendUint32(nil, 2) // the version of the attribute
	for _, e := range [][3]uint32{{owner, 6, noID}, {user, 6, 1}, {group, 6, noID}, {mask, 6, noID}, {others, 0, noID}} {
		acl = binary.LittleEndian.AppendUint16(acl, uint16(e[0]))
		acl = binary.LittleEndian.AppendUint16(acl, uint16(e[1]))
		acl = binary.LittleEndian.AppendUint32(acl, e[2])
	}
	if err := unix.Setxattr(name, "system.posix_acl_access", acl, 0); err != nil {
		t.Logf("this file system has no ACLs, and nobody can write by one: %v", err)
		return
	}
	f := must.Get(os.Open(name))(t)
	defer f.Close() //nolint:errcheck // read-only
	st.Gid = 0
	must.Contain(t, o.objects(int(f.Fd()), &st, true), "ACL", "an ACL")
}

func TestGlobIsLimited(t *testing.T) {
	root := t.TempDir()
	for i := range maxGlobbed + 1 {
		name := filepath.Join(root, fmt.Sprintf("f%d", i))
		must.Succeed(t, os.WriteFile(name, nil, 0o600))
	}
	tree := must.Get(OpenTree(root))(t)
	defer tree.Close()
	if all, err := tree.Glob("/*"); err == nil {
		t.Errorf("%d files", len(all))
	}
}
