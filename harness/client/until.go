package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The client waits after a failed attempt before the next, longer each time. kubelet and
// dockerd wait longer; what matters is that they come back.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 50 * time.Millisecond
)

// Until calls attempt again and again until it succeeds or ctx ends. The error is that of
// the last attempt that the end of ctx did not cut off, if there is one: which of an
// attempt's calls is cut off is luck, and its error says nothing.
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
