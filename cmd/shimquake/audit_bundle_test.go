package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestBundlePacksAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leak")
	for name, text := range map[string]string{"report.html": "<html>", "evidence/x/case.yaml": "name: x"} {
		file := filepath.Join(dir, name)
		must.Succeed(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)))
	}
	out := filepath.Join(dir, "own.tar.gz") // within what it packs
	must.Succeed(t, bundle(t.Context(), dir, out))
	f := must.Get(os.Open(out))(t)
	defer func() { _ = f.Close() }()
	z := must.Get(gzip.NewReader(f))(t)
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Succeed(t, err)
		text, err := io.ReadAll(r)
		if err != nil || len(text) == 0 {
			t.Fatal(h.Name, err)
		}
		names = append(names, h.Name)
	}
	must.Equal(t, names, []string{"leak/evidence/x/case.yaml", "leak/report.html"})
}

func TestBundleRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "there.tar.gz")
	must.Succeed(t, os.WriteFile(file, []byte("mine"), 0o644))
	must.Is(t, bundle(t.Context(), dir, file), os.ErrExist, "over a file")
	must.Equal(t, must.Read(t, file), "mine")
	err := bundle(t.Context(), file, filepath.Join(dir, "x.tar.gz"))
	must.FailWith(t, err, "not a folder", "of a file")
	err = bundle(t.Context(), filepath.Join(dir, "nothing"), filepath.Join(dir, "y.tar.gz"))
	must.Is(t, err, os.ErrNotExist, "of nothing")
}

// A folder of another user has no file of its own, or a name of a file elsewhere.
func TestBundlePacksOnlyFilesOfTheFolder(t *testing.T) {
	for plant, says := range map[string]string{
		"":          "has no file to pack: it is empty",
		"symlink":   "has no file to pack: DIR/inner/case.yaml is a symbolic link, not a regular file",
		"hard link": "DIR/inner/case.yaml is a file with several names (hard links)",
		"a file":    "",
	} {
		base := t.TempDir()
		victim, dir, out := filepath.Join(base, "shadow"), filepath.Join(base, "evidence"), filepath.Join(base, "b.tar.gz")
		name := filepath.Join(dir, "inner", "case.yaml")
		err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(victim, []byte("root:x"), 0o600))
		switch plant {
		case "symlink":
			err = errors.Join(err, os.Symlink(victim, name))
		case "hard link":
			err = errors.Join(err, os.Link(victim, name))
		case "a file":
			err = errors.Join(err, os.WriteFile(name, []byte("name: x"), 0o600))
		}
		must.Succeed(t, err)
		err = bundle(t.Context(), dir, out)
		if _, there := os.Stat(out); (there == nil) != (err == nil) {
			t.Errorf("%q: %v, but the archive: %v", plant, err, there)
		}
		if says = strings.ReplaceAll(says, "DIR", dir); (err == nil) != (says == "") ||
			err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", plant, err, says)
		}
	}
}

// A file may be longer than all disks: the folder may come from another machine.
func TestBundleIsBounded(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, errors.Join(os.WriteFile(filepath.Join(dir, "sparse"), nil, 0o644),
		os.Truncate(filepath.Join(dir, "sparse"), maxBundled+1)))
	out := filepath.Join(t.TempDir(), "b.tar.gz")
	const limit = "more than the limit of 2048 MiB (reached at sparse)"
	must.FailWith(t, bundle(t.Context(), dir, out), limit)
	must.Fail(t, must.ErrorOf(os.Stat(out)), "half a bundle is left")
}
