package client

import (
	"context"
	"errors"
	"testing"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/record"
)

// A request that was not sent, because its context had ended, observes nothing. Nor does
// one that fails when its context ends.
func TestAnUnsentRequestObservesNothing(t *testing.T) {
	for _, ends := range []string{"before", "in the connection", "meanwhile", "never"} {
		t.Run(ends, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var r record.Recorder
			s := NewSession(Params{Record: &r,
				Case: harness.Case{Workload: harness.Workload{}.WithDefaults()},
				Connect: func(ctx context.Context) (*containerd.Client, *grpc.ClientConn, error) {
					switch ends {
					case "before":
						cancel()
					case "in the connection": // of the call, and not of the script
						<-ctx.Done()
					}
					return nil, nil, ctx.Err()
				}})
			if ends == "in the connection" {
				s.CallTimeout = time.Millisecond
			}
			_ = s.Observe(ctx, 1, harness.FieldState, []string{"c0"},
				func(context.Context, *containerd.Client, *grpc.ClientConn) (map[string]string, error) {
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
