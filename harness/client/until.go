package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The client waits longer after each failed attempt. kubelet and dockerd wait even
// longer, but here it only matters that they retry.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 50 * time.Millisecond
)

// Until retries attempt until it succeeds or ctx ends. It returns the error of the last
// attempt that the end of ctx did not interrupt, if there is one. The error of an
// interrupted attempt says nothing: chance decides which of its calls is interrupted.
func Until(ctx context.Context, attempt func(context.Context) error) error {
	pause, wait := time.NewTimer(0), firstRetry
	defer pause.Stop()
	var last error
	for {
		select {
		case <-ctx.Done():
			return errors.Join(last, fmt.Errorf("gave up: %w", ctx.Err()))
		case <-pause.C:
		}
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		pause.Reset(wait)
		wait = min(2*wait, lastRetry)
	}
}
