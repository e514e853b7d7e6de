package harness

import (
	"context"
	"errors"
	"testing"
)

func TestUntilTellsWhatTheEndDidNotCutOff(t *testing.T) {
	refused := errors.New("refused")
	for name, attempts := range map[string][]error{
		"an attempt is cut off after one that was refused": {refused, context.DeadlineExceeded},
		"the only attempt is refused as the time ends":     {refused},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := until(ctx, func(context.Context) error {
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
