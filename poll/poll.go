// Package poll repeats a check until it succeeds. It is only for states that no event
// announces: all other code waits for an event.
package poll

import (
	"context"
	"time"
)

// Until calls ask at once, and then once in each interval, until ask returns true or an
// error. It returns the error of ctx when ctx is done first.
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
