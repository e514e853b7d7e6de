package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/suites/spec"
)

// follow shows the progress of the suites that append to a file, until the context ends.
func follow(ctx context.Context, name string) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var f follower
	defer f.end()
	for offset := int64(0); ; {
		n, err := f.take(ctx, name, offset)
		if err != nil {
			return fmt.Errorf("follow the suites: %w", err)
		}
		offset += n
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// follower keeps the running suite.
type follower struct {
	work   *progress.Work
	failed int
}

// take reads the whole lines of a file from an offset on, and returns their length. A
// missing file has no lines.
func (f *follower) take(ctx context.Context, name string, offset int64) (taken int64, err error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // only read
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	for r := bufio.NewReader(file); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // the rest is not written yet
			return taken, nil
		}
		if err != nil {
			return taken, err
		}
		taken += int64(len(line))
		var c spec.Count
		if err := json.Unmarshal(line, &c); err != nil {
			return taken, err
		}
		f.count(ctx, c)
	}
}

func (f *follower) count(ctx context.Context, c spec.Count) {
	if c.Begins {
		f.end()
		f.work = progress.Begin(ctx, c.Suite, c.Specs, "specs")
		return
	}
	if c.Failed {
		f.failed++
	}
	f.work.Step(fmt.Sprintf("%d failed", f.failed))
}

func (f *follower) end() {
	f.work.End()
	f.work, f.failed = nil, 0
}
