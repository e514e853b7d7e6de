package client

import (
	"context"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// Observe makes one request that returns the values of some objects, and records them. It
// returns the error of the request. A request that was not sent observes nothing, nor
// does one that failed at the end of the script's time.
func (s *Session) Observe(ctx context.Context, step int, field string, all []string,
	ask func(context.Context, *containerd.Client, *grpc.ClientConn) (map[string]string, error)) error {
	o := harness.Observed{Step: step, At: time.Now(), Field: field}
	limited, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	cl, conn, err := s.Connect(limited)
	if over := Over(limited); over != nil {
		return over
	}
	var values map[string]string
	if err == nil {
		values, err = ask(limited, cl, conn)
	}
	if err != nil && Over(ctx) != nil {
		return err
	}
	o.Took = time.Since(o.At)
	if !errdefs.IsNotFound(err) && status.Code(err) != codes.NotFound {
		o.Err = callerr.Of(err)
	}
	s.Record.Set(func(h *harness.History) {
		for _, of := range all {
			o.Of, o.Value = of, values[of]
			h.Observed = append(h.Observed, o)
		}
	})
	return err
}
