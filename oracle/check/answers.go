package check

import (
	"context"
	"time"

	containerd "github.com/containerd/containerd/v2/client"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Answers checks that containerd answers a simple question within the bound. What it
// answers is of no matter.
func Answers(ctx context.Context, client *containerd.Client, bound time.Duration) []finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	begun := time.Now()
	if _, err := client.Version(ctx); err != nil {
		return []finding.Finding{{Invariant: finding.Liveness, Class: finding.ClassDaemon,
			Facts: callerr.Of(err).Facts(fact.Answer).
				With(fact.Facts{fact.Bound: bound.String(), fact.Apart: time.Since(begun).Round(time.Millisecond).String()})}}
	}
	return nil
}
