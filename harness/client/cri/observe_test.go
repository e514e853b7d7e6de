package cri

import (
	"context"
	"errors"
	"testing"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/record"
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
			c.observe(ctx, 1, harness.FieldState, "c0",
				func(context.Context, api.RuntimeServiceClient) (string, error) {
					if ends == "meanwhile" {
						cancel()
					}
					return "", errors.New("lost")
				})
			if got := len(r.History().Observed); (got == 1) != (ends == "never") {
				t.Errorf("%d observations", got)
			}
		})
	}
}
