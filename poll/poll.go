// Package poll repeats a check until it succeeds, for states that no event announces. The
// rest of the code waits for the event.
package poll

import (
	"context"
	"time"
)

// Until calls ask at once, then once every interval, until it returns true or an error.
// It returns the error of ctx when ctx is done first.
func Until(ctx context.Context, every time.Duration, ask func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
