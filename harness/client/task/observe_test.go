package task

import (
	"context"
	"errors"
	"testing"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/harness/script"
)

// A request that was not sent, because its context had ended, observes nothing. Nor does
// one that fails when its context ends.
func TestAnUnsentRequestObservesNothing(t *testing.T) {
	for _, ends := range []string{"before", "meanwhile", "never"} {
		t.Run(ends, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var r record.Recorder
			c := Client{Session: client.NewSession(client.Params{Record: &r,
				Case: harness.Case{Workload: harness.Workload{}.WithDefaults()},
				Connect: func(ctx context.Context) (*containerd.Client, *grpc.ClientConn, error) {
					if ends == "before" {
						cancel()
					}
					return nil, nil, ctx.Err()
				}})}
			_ = c.observe(ctx, 1, harness.FieldState, []script.Object{script.Container(0)},
				func(context.Context, *containerd.Client) (map[script.Object]string, error) {
					if ends == "meanwhile" {
						cancel()
					}
					return nil, errors.New("lost")
				})
			if got := len(r.History().Observed); (got == 1) != (ends == "never") {
				t.Errorf("%d observations", got)
			}
		})
	}
}
