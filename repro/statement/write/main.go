// Command write reads the source of each tested release of containerd. It writes all log
// messages and errors into the file of its argument. `make docs` runs it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/repro/statement"
)

func main() {
	if err := write(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "make docs:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: write FILE")
	}
	var all [][]statement.Statement
	for _, release := range containerd.Releases() {
		dir, err := containerd.SourceDir(ctx, release)
		if err != nil {
			return err
		}
		some, err := statement.Extract(os.DirFS(dir), release)
		if err != nil {
			return err
		}
		all = append(all, some)
	}
	var text bytes.Buffer
	if err := statement.Write(&text, statement.Merge(all...)); err != nil {
		return err
	}
	return os.WriteFile(args[0], text.Bytes(), 0o644)
}
