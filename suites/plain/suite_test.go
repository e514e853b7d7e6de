package plain

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/suites/spec"
)

func TestPlain(t *testing.T) { spec.Run(t, "plain") }

var _ = SynchronizedBeforeSuite(func(ctx context.Context) { spec.Prepare(ctx) }, func() {})
