package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// Verdicts that differ in their numbers alone are printed once, and counted.
func TestRepeats(t *testing.T) {
	said := &repeats{}
	v := violated("shim task=none bundle=gone")
	v.Name, v.Version = "x", "v2.3.7"
	later := v
	later.Took, later.Evidence = time.Second, "out/evidence/x"
	other := violated("mount")
	other.Name, other.Version = "x", "v2.3.7"
	for i, c := range []struct {
		v    harness.Verdict
		want bool
	}{{v, false}, {later, true}, {other, false}, {v, true}} {
		must.Equal(t, said.before(c.v), c.want, i)
	}
	var out bytes.Buffer
	said.tell(&out)
	must.Equal(t, out.String(), "2 more times the same: violated x on containerd v2.3.7\n")
}
