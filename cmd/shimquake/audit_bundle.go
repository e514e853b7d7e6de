package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/quote"
)

func bundleCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "bundle DIR",
		Short: "Pack a folder of evidence, or a whole report, as one .tar.gz",
		Example: `  shimquake bundle out/evidence/shutdown-error-once-20261122-063304-wf77df487
  shimquake bundle --out ticket-4711.tar.gz out`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			dir, err := filepath.Abs(words[0])
			if err != nil {
				return fmt.Errorf("bundle: %w", err)
			}
			if out == "" {
				out = filepath.Base(dir) + ".tar.gz"
			}
			if err := bundle(cmd.Context(), dir, out); err != nil {
				return fmt.Errorf("bundle: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), quote.Line(out))
			return err
		},
	}
	c.Flags().StringVar(&out, "out", "", "the file to write (default: the folder's name, .tar.gz)")
	return c
}

// bundle packs a folder into a new archive. The names in the archive begin with the
// folder's name. After an error it removes the archive.
func bundle(ctx context.Context, dir, out string) (err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: name a folder of evidence or of a report", dir)
	}
	f, err := foreign.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(out))
		}
	}()
	z := gzip.NewWriter(f)
	t := tar.NewWriter(z)
	return errors.Join(pack(ctx, t, dir, f), t.Close(), z.Close(), f.Close())
}

// maxBundled is the limit of an archive's content in bytes. The report of a default
// sweep has some 100 MB.
const maxBundled = 2 << 30

// pack adds the regular files of a folder, except the archive itself. A folder without
// any is an error that names another entry.
func pack(ctx context.Context, t *tar.Writer, dir string, own *os.File) error {
	self, err := own.Stat()
	if err != nil {
		return err
	}
	files, err := foreign.OpenDir(dir)
	if err != nil {
		return err
	}
	packed, n, other := int64(0), 0, ""
	err = files.Walk(ctx, maxEntries, func(name string, e fs.DirEntry) error {
		if !e.Type().IsRegular() {
			other = name
			return nil
		}
		info, err := e.Info()
		if err != nil || os.SameFile(info, self) {
			return err
		}
		if packed += info.Size(); packed > maxBundled {
			return fmt.Errorf("%s has more than the limit of %d MiB (reached at %s): remove files that you need not send", dir,
				maxBundled>>20, name)
		}
		f, err := files.Open(name, info.Size())
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.Join(filepath.Base(dir), name), Mode: int64(info.Mode().Perm()), Size: info.Size(),
			ModTime: info.ModTime()}
		if err = t.WriteHeader(h); err == nil {
			_, err = io.CopyN(t, f, info.Size())
		}
		n++
		return errors.Join(err, f.Close())
	})
	if err == nil && n == 0 {
		if err = errors.New("it is empty"); other != "" {
			_, err = files.Open(other, 0)
		}
		err = fmt.Errorf("%s has no file to pack: %w", dir, err)
	}
	return errors.Join(err, files.Close())
}
