// Package poll asks again and again for what nobody tells. What can be waited for by an
// event is not polled.
package poll

import (
	"context"
	"time"
)

// Until asks at once and then every so often, until the answer is true or an error, or
// ctx ends; then the error is that of ctx.
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
