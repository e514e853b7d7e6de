package client

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/harness"
)

func TestUntilReturnsTheLastUninterruptedError(t *testing.T) {
	refused := errors.New("refused")
	for name, attempts := range map[string][]error{
		"an attempt is refused, and the next is interrupted": {refused, context.DeadlineExceeded},
		"the only attempt is refused at the deadline":        {refused},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := Until(ctx, func(context.Context) error {
			n++
			if n == len(attempts) {
				cancel()
			}
			return attempts[n-1]
		})
		cancel()
		if !errors.Is(err, refused) || errors.Is(err, context.DeadlineExceeded) || n != len(attempts) {
			t.Errorf("%s: %v after %d attempts, want %v", name, err, n, refused)
		}
	}
}

func TestUntilDoesNotRetryAnUnknownService(t *testing.T) {
	unknown, n := status.Error(codes.Unimplemented, "unknown service"), 0
	err := Until(t.Context(), func(context.Context) error {
		if n++; n > 1 {
			return nil
		}
		return unknown
	})
	if !errors.Is(err, unknown) || n != 1 {
		t.Errorf("%v after %d attempts", err, n)
	}
}

func TestCheckReuse(t *testing.T) {
	for _, tc := range []struct {
		i    harness.Instance
		good bool
	}{
		{harness.Instance{Reported: true}, true}, {harness.Instance{}, false},
		{harness.Instance{Reported: true, Status: 137},
			false},
		{harness.Instance{Reported: true, Status: 255}, false},
	} {
		if err := CheckReuse(&tc.i); (err == nil) != tc.good {
			t.Errorf("%+v: %v", tc.i, err)
		}
	}
}
