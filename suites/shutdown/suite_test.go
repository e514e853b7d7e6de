package shutdown

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/suites/spec"
)

func TestShutdown(t *testing.T) { spec.Run(t, "shutdown") }

var _ = SynchronizedBeforeSuite(func(ctx context.Context) { spec.Prepare(ctx) }, func() {})
