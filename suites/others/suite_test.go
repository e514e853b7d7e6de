package others

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/suites/spec"
)

func TestOthers(t *testing.T) { spec.Run(t, "others") }

var _ = SynchronizedBeforeSuite(func(ctx context.Context) { spec.Prepare(ctx) }, func() {})
