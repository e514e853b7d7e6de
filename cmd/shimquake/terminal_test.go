package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
)

func TestNoColourButOnATerminal(t *testing.T) {
	var b bytes.Buffer
	if got := coloured(&b, harness.Violated, "violated x"); strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
