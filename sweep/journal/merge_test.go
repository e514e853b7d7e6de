package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/sweep/plan"
)

// shardOf returns the journal of a shard of a plan with four cases, some of which are
// done.
func shardOf(t *testing.T, i, of int, done ...int) string {
	t.Helper()
	dir, j, _ := begun(t, 4, plan.Shard{I: i, Of: of})
	add(t, j, done...)
	must.Succeed(t, j.Close())
	return dir
}

func TestMergeIsWhatOneMachineHasRun(t *testing.T) {
	h, results, err := Merge([]string{shardOf(t, 2, 2, 3, 1), shardOf(t, 1, 2, 0, 2)})
	must.Succeed(t, err)
	one, results1, err := Read(shardOf(t, 1, 1, 0, 1, 2, 3))
	must.Succeed(t, err)
	slices.SortFunc(results, func(a, b Result) int { return a.I - b.I })
	got, want := fmt.Sprintf("%+v %+v", h, results), fmt.Sprintf("%+v %+v", one, results1)
	must.Equal(t, got, want, "merged")
}

// spoilt changes a shard's journal, and returns its folder.
func spoilt(t *testing.T, dir string, spoil func(string) string) string {
	t.Helper()
	must.Edit(t, filepath.Join(dir, fileName), spoil)
	return dir
}

// The defects that make a merge less than the whole sweep, and their errors.
func TestMergeRefusesLessThanTheWhole(t *testing.T) {
	one, two := shardOf(t, 1, 2, 0, 2), shardOf(t, 2, 2, 1, 3)
	torn := shardOf(t, 2, 2, 1, 3)
	other, j, _ := begun(t, 5, plan.Shard{I: 2, Of: 2})
	must.Succeed(t, j.Close())
	foreign := shardOf(t, 2, 2, 1, 3)
	rebuild(t, foreign)
	lastLine := func(s string) int { return strings.LastIndex(strings.TrimSpace(s), "\n") }
	for name, c := range map[string]struct {
		dirs []string
		says []string
		lost bool
	}{
		"one is missing":    {[]string{one}, []string{"1 of 2 shards are missing", "shard 2/2 is missing"}, true},
		"most are missing":  {[]string{shardOf(t, 3, 4, 2)}, []string{"3 of 4", "1/4", "2/4", "4/4"}, true},
		"nothing ran of it": {[]string{one, shardOf(t, 2, 2)}, []string{"shard 2/2", "after 0 of its 2", "--resume"}, true},
		"one was cut off":   {[]string{one, shardOf(t, 2, 2, 3)}, []string{"shard 2/2", "after 1 of its 2"}, true},
		"its last line is torn": {[]string{one, spoilt(t, torn, func(s string) string { return s[:lastLine(s)+9] })},
			[]string{"after 1 of its 2"}, true},
		"the whole was cut off": {[]string{shardOf(t, 1, 1, 0, 2, 3)}, []string{"1 of 1", "after 3 of its 4"}, true},
		"missing and cut off":   {[]string{shardOf(t, 1, 3, 3)}, []string{"3 of 3", "2/3 is", "3/3 is", "1/3 was"}, true},
		"its journal is empty": {[]string{one, spoilt(t, shardOf(t, 2, 2), func(string) string { return "" })},
			[]string{"its plan is incomplete"}, false},
		"one is there twice":  {[]string{one, two, shardOf(t, 1, 2, 0, 2)}, []string{"are both shard 1/2"}, false},
		"another plan":        {[]string{one, other}, []string{"has another plan"}, false},
		"another split":       {[]string{one, shardOf(t, 3, 3, 2)}, []string{"shards i/n with the same n"}, false},
		"of another build":    {[]string{one, foreign}, []string{"of yesterday"}, false},
		"no sweep":            {[]string{one, t.TempDir()}, []string{"no sweep in this folder"}, false},
		"a folder that isn't": {[]string{one, filepath.Join(t.TempDir(), "shard-*")}, []string{"no sweep"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, results, err := Merge(c.dirs)
			var lost *LostError
			if err == nil || results != nil || errors.As(err, &lost) != c.lost {
				t.Fatalf("%d results, %v", len(results), err)
			}
			for _, says := range c.says {
				must.Contain(t, err.Error(), says)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

// A shard without a case would hold without running anything.
func TestAShardWithoutACaseIsRefused(t *testing.T) {
	_, j, h := begun(t, 4, whole)
	must.Succeed(t, j.Close())
	h.Shard = plan.Shard{I: 5, Of: 8}
	if _, err := Create(t.TempDir(), h); err == nil ||
		!strings.Contains(err.Error(), "5/8 has no case: the plan has only 4") {
		t.Errorf("begun: %v", err)
	}
	dir := spoilt(t, shardOf(t, 1, 8), func(s string) string {
		return strings.Replace(s, `"i":1,"of":8`, `"i":5,"of":8`, 1)
	})
	if _, _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "has no case") {
		t.Errorf("read: %v", err)
	}
}
