// Package suites runs the specs of the folders below it as one Ginkgo suite. Its
// processes share one list of specs, so that no process is idle before the list is empty.
package suites

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	_ "github.com/shimquake/shimquake/suites/control"
	_ "github.com/shimquake/shimquake/suites/crashcreate"
	_ "github.com/shimquake/shimquake/suites/exitcode"
	_ "github.com/shimquake/shimquake/suites/network"
	_ "github.com/shimquake/shimquake/suites/others"
	_ "github.com/shimquake/shimquake/suites/plain"
	_ "github.com/shimquake/shimquake/suites/protocol"
	_ "github.com/shimquake/shimquake/suites/reboot"
	_ "github.com/shimquake/shimquake/suites/shimkill"
	_ "github.com/shimquake/shimquake/suites/shutdown"
	"github.com/shimquake/shimquake/suites/spec"
	_ "github.com/shimquake/shimquake/suites/umount"
	_ "github.com/shimquake/shimquake/suites/upgrade"
)

func TestSuites(t *testing.T) { spec.Run(t, "suites") }

// The first process builds the subject, before any spec runs.
var _ = SynchronizedBeforeSuite(func(ctx context.Context) { spec.Prepare(ctx) }, func() {})
