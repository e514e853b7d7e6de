package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/must"
)

// A program of the world replaces the folder of all FIFOs, or that of a process, by a
// link. The link leads to a folder of the host that has files with the same names.
func TestFIFOsAreNotFollowedOutOfTheWorld(t *testing.T) {
	for name, replaced := range map[string]func(fifos, folder string) string{
		"the folder of all FIFOs": func(fifos, _ string) string { return fifos },
		"the folder of a process": func(_, folder string) string { return folder },
	} {
		t.Run(name, func(t *testing.T) {
			fifos := t.TempDir()
			dir, err := foreign.OpenDir(fifos)
			must.Succeed(t, err)
			defer func() { _ = dir.Close() }() // it was only read
			r := &Reader{Stdin: true}
			must.Get(r.Create(dir)("c0"))(t)
			link, host := replaced(fifos, filepath.Dir(r.Input())), t.TempDir()
			var victims []string
			err = filepath.WalkDir(link, func(name string, e fs.DirEntry, err error) error {
				victim := filepath.Join(host, strings.TrimPrefix(name, link))
				if err != nil || name == link {
					return err
				}
				if e.IsDir() {
					return os.Mkdir(victim, 0o700)
				}
				victims = append(victims, victim)
				return os.WriteFile(victim, []byte("theirs"), 0o600)
			})
			must.Succeed(t, errors.Join(err, os.Rename(link, link+"-aside"), os.Symlink(host, link)))
			r.Discard()
			must.Equal(t, len(victims), 3, "the host has", victims)
			for _, file := range victims {
				must.Equal(t, must.Read(t, file), "theirs", file, "of the host")
			}
		})
	}
}

// A program of the world replaces the FIFO of an input by a link to a FIFO of the host.
func TestInputIsNotWrittenOutOfTheWorld(t *testing.T) {
	name := filepath.Join(t.TempDir(), "victim")
	fifos := must.Get(foreign.OpenDir(t.TempDir()))(t)
	defer func() { _ = fifos.Close() }() // it was only read
	link := fifos.Path("c0-stdin")
	must.Succeed(t, errors.Join(unix.Mkfifo(name, 0o600), os.Symlink(name, link)))
	victim := must.Get(os.OpenFile(name, os.O_RDWR|unix.O_NONBLOCK, 0))(t)
	defer func() { _ = victim.Close() }() // it was only read
	n, err := writeTo(t.Context(), fifos, link, []byte("ours"), func() bool { return false })
	if kind := new(foreign.KindError); n != 0 || !errors.As(err, &kind) {
		t.Errorf("%d bytes were written to the host: %v", n, err)
	}
}
