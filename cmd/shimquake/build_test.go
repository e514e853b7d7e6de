package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/spelling"
)

// A build and a containerd that fail show nothing; a misspelt name is a usage error.
func TestPrepareErrorStatus(t *testing.T) {
	for want, err := range map[int]error{
		statusInvalid: fmt.Errorf("prepare: %w", &daemon.TemplateError{Err: errors.New("it did not stop")}),
		statusUsage:   errors.New("there is no such folder"),
	} {
		s := statusError{}
		if got := prepareError(err); !errors.As(got, &s) || s.status != want {
			t.Errorf("%v: %v, want status %d", err, got, want)
		}
	}
	s := statusError{}
	if got := prepareError(&containerd.BuildError{}); !errors.As(got, &s) || s.status != statusInvalid {
		t.Errorf("a build: %v", got)
	}
	if got := prepareError(&spelling.UnknownError{}); errors.As(got, &s) && s.status == statusInvalid {
		t.Errorf("a misspelt name: %v", got)
	}
}
