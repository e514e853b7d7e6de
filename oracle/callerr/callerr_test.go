package callerr

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
)

// Errors are compared by containerd's code and message, and not by texts that the harness
// adds.
func TestFailure(t *testing.T) {
	answer := status.Error(codes.FailedPrecondition, "task c0 of "+strings.Repeat("0f", 32)+" in state 3 after 10.2s")
	fs := Of(&Error{"remove", &Error{"StopPodSandbox", answer}}).Facts(fact.Removal)
	want := fact.Facts{fact.What: fact.Removal, fact.Call: "StopPodSandbox", fact.Code: "FailedPrecondition",
		fact.Message: "task ID of ID in state N after TIME"}
	must.Equal(t, fs.Cause(), want)
	refused := Of(&Error{"create", answer})
	if got := *Of(fmt.Errorf("start it: %w", refused)); got.Text != "start it: "+refused.Text {
		t.Errorf("the text is %q", got.Text)
	} else if got.Text = refused.Text; got != *refused {
		t.Errorf("got %+v, want %+v", got, *refused)
	}
}

// A call that ran into its deadline has one of two texts by chance.
func TestDeadline(t *testing.T) {
	reset := status.Error(codes.DeadlineExceeded, "stream terminated by RST_STREAM with error code: CANCEL")
	own := status.Error(codes.DeadlineExceeded, "context deadline exceeded")
	must.Equal(t, Of(reset).Facts(fact.Removal).Cause(), Of(own).Facts(fact.Removal).Cause())
}
