package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/bisect/commits"
	"github.com/shimquake/shimquake/fixtures/containerd"
)

// revisions are the sorted revisions of a search.
type revisions struct {
	names    []string // The names in messages.
	doubtful []bool   // Whether a revision may not exist.
	oldIsBad bool
	note     string // A caveat about the order.
	// ready prepares a revision, and returns its name for the key containerd of a case.
	ready func(ctx context.Context, rev int) (spec string, err error)
	close func() error
}

// releaseRow returns the releases from good to bad.
func releaseRow(ctx context.Context, good, bad string, pre bool) (revisions, error) {
	all, err := containerd.Between(ctx, good, bad, pre)
	if err != nil {
		return revisions{}, err
	}
	var r revisions
	lines := map[string]bool{}
	for _, c := range all {
		r.names = append(r.names, c.Version)
		r.doubtful = append(r.doubtful, !c.Known)
		lines[semver.MajorMinor(c.Version)] = true
	}
	r.oldIsBad = all[0].Version == "v"+strings.TrimPrefix(bad, "v")
	if len(lines) > 1 {
		r.note = fmt.Sprintf("the range contains %d branches of releases, and is sorted by version: "+
			"a change that is on several branches has a first release on each of them", len(lines))
	}
	r.ready = func(_ context.Context, rev int) (string, error) { return r.names[rev], nil }
	r.close = func() error { return nil }
	return r, nil
}

// commitRow returns the commits from good to bad in a git checkout.
func commitRow(ctx context.Context, source, good, bad string) (revisions, error) {
	cache, err := containerd.CacheDir()
	if err != nil {
		return revisions{}, err
	}
	waits := func() { fmt.Fprintf(stderr, "shimquake: waiting for another bisect of %s\n", source) }
	clone, err := commits.Open(ctx, source, filepath.Join(cache, "bisect"), waits)
	if err != nil {
		return revisions{}, err
	}
	all, goodIsOld, err := clone.Between(ctx, good, bad)
	if err != nil {
		_ = clone.Close() // The error above is the cause.
		return revisions{}, err
	}
	r := revisions{oldIsBad: !goodIsOld, close: clone.Close}
	for _, c := range all {
		r.names = append(r.names, c.Hash[:min(12, len(c.Hash))]+" "+c.Subject)
	}
	r.ready = func(ctx context.Context, rev int) (string, error) {
		return "src:" + clone.Dir, clone.Select(ctx, all[rev].Hash)
	}
	return r, nil
}
