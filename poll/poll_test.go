package poll_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shimquake/shimquake/poll"
)

func TestUntil(t *testing.T) {
	broken := errors.New("broken")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		ask  func(n int) (bool, error)
		want error
		asks int
	}{
		"it is so already":        {t.Context(), func(int) (bool, error) { return true, nil }, nil, 1},
		"it is so the third time": {t.Context(), func(n int) (bool, error) { return n == 3, nil }, nil, 3},
		"it cannot be asked":      {t.Context(), func(n int) (bool, error) { return false, broken }, broken, 1},
		"time is over":            {over, func(int) (bool, error) { return false, nil }, context.Canceled, 1},
		"asked although it is":    {over, func(int) (bool, error) { return true, nil }, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			err := poll.Until(test.ctx, time.Microsecond, func() (bool, error) { n++; return test.ask(n) })
			if !errors.Is(err, test.want) || n < test.asks || test.asks == 1 && name != "time is over" && n != 1 {
				t.Errorf("%v after %d questions, want %v after %d", err, n, test.want, test.asks)
			}
		})
	}
}
