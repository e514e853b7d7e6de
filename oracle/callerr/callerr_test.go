package callerr

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/oracle/fact"
)

// Errors are compared by containerd's code and message, and not by texts that the harness
// adds.
func TestFailure(t *testing.T) {
	answer := status.Error(codes.FailedPrecondition, "task c0 of "+strings.Repeat("0f", 32)+" in state 3 after 10.2s")
	fs := Of(&Error{"remove", &Error{"StopPodSandbox", answer}}).Facts(fact.Removal)
	want := fact.Facts{fact.What: fact.Removal, fact.Call: "StopPodSandbox", fact.Code: "FailedPrecondition",
		fact.Message: "task ID of ID in state N after TIME"}
	if got := fs.Cause(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
