package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Two comparisons may begin with the same containerd. The second one waits for the first
// one's sweep, until it is interrupted.
func TestAComparisonWaitsForTheSweepOfAnother(t *testing.T) {
	var said bytes.Buffer
	defer func(was *quote.Terminal) { stderr = was }(stderr)
	stderr = quote.NewTerminal(&said)
	dir := t.TempDir()
	first := must.Get(journal.Create(dir, journal.Head{Plan: plan.Plan{Version: "v2.4.2"}.WithDigest()}))(t)
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, _, err := resumeWhenFree(soon, dir, "v2.4.2")
	must.Is(t, err, engine.ErrInterrupted)
	if n := strings.Count(said.String(), "another shimquake sweeps containerd v2.4.2"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
	must.Succeed(t, first.Close())
	second, h, _, err := resumeWhenFree(t.Context(), dir, "v2.4.2")
	must.Succeed(t, err)
	must.Equal(t, h.Plan.Version, "v2.4.2")
	must.Succeed(t, second.Close())
}
