package client

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/foreign"
)

// A program of the world replaces a FIFO or a folder of FIFOs by a link to the host's
// files. The harness writes and removes nothing there.
func TestFIFOsAreNotFollowedOutOfTheWorld(t *testing.T) {
	for name, replace := range map[string]func(fifos, folder, stdin, victims string) error{
		"the folder of all FIFOs": func(fifos, _, _, victims string) error {
			if err := os.Rename(fifos, fifos+"-aside"); err != nil {
				return err
			}
			return os.Symlink(victims, fifos)
		},
		"the folder of a process": func(_, folder, _, victims string) error {
			if err := os.Rename(folder, folder+"-aside"); err != nil {
				return err
			}
			return os.Symlink(victims, folder)
		},
		"a FIFO": func(_, _, stdin, victims string) error {
			if err := os.Remove(stdin); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(victims, "c0-stdin"), stdin)
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			fifos, victims := filepath.Join(top, "fifo"), filepath.Join(top, "host")
			for _, dir := range []string{fifos, victims} {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{"c0-stdin", "c0-stdout", "c0-stderr"} {
				if err := os.WriteFile(filepath.Join(victims, file), []byte("theirs"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dir, err := foreign.OpenDir(fifos)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = dir.Close() }() // it was only read
			r := &Reader{Stdin: true}
			if _, err := r.Create(dir)("c0"); err != nil {
				t.Fatal(err)
			}
			if err := replace(fifos, filepath.Dir(r.Input()), r.Input(), victims); err != nil {
				t.Fatal(err)
			}
			r.Discard()
			for _, file := range []string{"c0-stdin", "c0-stdout", "c0-stderr"} {
				if text, err := os.ReadFile(filepath.Join(victims, file)); err != nil || string(text) != "theirs" {
					t.Errorf("%s of the host: %q, %v", file, text, err)
				}
			}
		})
	}
}
