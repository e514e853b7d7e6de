package oracle

import (
	"context"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
)

// Answers checks that containerd answers a simple question within the bound. What it
// answers is of no matter.
func Answers(ctx context.Context, client *containerd.Client, bound time.Duration) []Finding {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	begun := time.Now()
	if _, err := client.Version(ctx); err != nil {
		return []Finding{{Invariant: Liveness, Class: ClassDaemon, Facts: FailedOf(err).Facts(Answer).
			With(Facts{FactBound: bound.String(), FactApart: time.Since(begun).Round(time.Millisecond).String()})}}
	}
	return nil
}
