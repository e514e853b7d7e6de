package umount

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/suites/spec"
)

func TestUmount(t *testing.T) { spec.Run(t, "umount") }

var _ = SynchronizedBeforeSuite(func(ctx context.Context) { spec.Prepare(ctx) }, func() {})
