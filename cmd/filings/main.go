// Command filings runs the cases of bugs that can be filed upstream. It writes the log
// lines, errors and stacks of these runs, and the quoted source lines, into a file.
// Records of other bugs in the file stay. `make filings` calls it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue/filing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "make filings:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 1 {
		return errors.New("usage: filings FILE [BUG...]; without a BUG, it records all bugs whose record is out of date")
	}
	file, ids := args[0], args[1:]
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	records, err := filing.Read(text)
	if err != nil {
		return err
	}
	all, err := filing.All()
	if err != nil {
		return err
	}
	maps.DeleteFunc(all, func(_ string, f filing.Filing) bool { return f.SameAs != "" })
	maps.DeleteFunc(records, func(id string, _ filing.Recorded) bool { _, is := all[id]; return !is })
	if len(ids) == 0 {
		for id, f := range all {
			if records[id].Digest != f.Digest() {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
	}
	var failed []error
	for _, id := range ids {
		f, ok := all[id]
		if !ok {
			return fmt.Errorf("bug %s has no text of an issue: write catalogue/filing/issues/%[1]s.yaml first", id)
		}
		r, err := record(ctx, f)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", id, err))
			continue
		}
		fmt.Printf("%s: recorded on %s: %s\n", id, r.Release, strings.Join(r.Left, "; "))
		records[id] = r
		if err := write(file, records); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

func write(file string, records map[string]filing.Recorded) error {
	var text strings.Builder
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if err := lines.Encode(records[id]); err != nil {
			return err
		}
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}
