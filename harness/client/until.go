package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// The client waits twice as long after each failed attempt. kubelet and dockerd wait even
// longer, but only the retries matter here.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = time.Second
)

// Until retries attempt until it succeeds or ctx ends. It does not retry a call that
// containerd does not have, because only a restart can change that. If ctx ends, Until
// returns the error of the last attempt that returned before that. It prefers this error,
// because an interrupted attempt fails at a random call.
func Until(ctx context.Context, attempt func(context.Context) error) error {
	var last error
	for wait := time.Duration(0); ; wait = min(max(2*wait, firstRetry), lastRetry) {
		select {
		case <-ctx.Done():
			return errors.Join(last, fmt.Errorf("gave up: %w", ctx.Err()))
		case <-time.After(wait):
		}
		err := attempt(ctx)
		if err == nil || callerr.Code(err) == codes.Unimplemented {
			return err
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
	}
}
