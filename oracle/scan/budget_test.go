package scan_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/scan"
)

// A walk ends at the limits of its Budget, and returns the entries that it has read
// before.
func TestBudget(t *testing.T) {
	root := t.TempDir()
	parent := filepath.Join(root, "run", scan.BundleParents[0])
	for _, ns := range []string{"a", "b"} {
		for i := range 5 {
			must.Succeed(t, os.MkdirAll(filepath.Join(parent, ns, fmt.Sprint(i)), 0o755))
		}
	}
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for name, tc := range map[string]struct {
		until   time.Time
		entries int
		want    int
		err     string
	}{
		"enough":                 {later, 12, 10, ""},
		"half of a namespace":    {later, 9, 7, scan.BundleParents[0] + "/b: more than 9 entries"},
		"one of two namespaces":  {later, 1, 0, scan.BundleParents[0] + "/a: more than 1 entries"},
		"no time":                {before, 12, 0, "it took more than 0s"},
		"more than the last one": {later, 11, 9, "/b: more than 11 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := scan.OpenTree(root)
			must.Succeed(t, err)
			defer tree.Close()
			told := 0
			b := scan.NewBudget(tc.until, tc.entries, func(string) { told++ })
			tree = tree.Within(b)
			all := 0
			err = scan.EachBundle(tree, "/run", "/root", func(scan.Bundle) { all++ })
			if all != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%d bundles, %v; want %d, %q", all, err, tc.want, tc.err)
			}
			cut := new(scan.CutError)
			if errors.As(err, &cut) != (b.Cut() != nil) || (told == 0) != tc.until.Equal(before) {
				t.Errorf("the budget says %v, and has told %d files", b.Cut(), told)
			}
			if _, err := tree.Open("/run", unix.O_PATH); (err != nil) != (tc.err != "") {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
