package main

import (
	"errors"
	"strings"
	"testing"
)

func TestTellLacks(t *testing.T) {
	lack := errors.New("this machine cannot run pods: no cpu: echo +cpu > file")
	for _, test := range []struct {
		lacks  []error
		strict bool
		status int
		says   string
	}{
		{nil, false, statusHeld, "this machine can run every case\n"},
		{nil, true, statusHeld, "this machine can run every case\n"},
		{[]error{lack}, false, statusHeld, "lacks: " + lack.Error() + "\n"},
		{[]error{lack}, true, statusInvalid, "lacks: " + lack.Error() + "\n"},
	} {
		var out strings.Builder
		err := tellLacks(&out, test.lacks, test.strict)
		status := statusHeld
		var se statusError
		if errors.As(err, &se) {
			status = se.status
		}
		if out.String() != test.says || status != test.status {
			t.Errorf("%v, strict %v: %q, %v; want %q and status %d",
				test.lacks, test.strict, out.String(), err, test.says, test.status)
		}
	}
}
