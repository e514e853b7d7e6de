package exitcode

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/suites/spec"
)

func TestExitCode(t *testing.T) { spec.Run(t, "exitcode") }

var _ = SynchronizedBeforeSuite(func(ctx context.Context) { spec.Prepare(ctx) }, func() {})
