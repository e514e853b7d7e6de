package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/quote"
)

func TestNoColourButOnATerminal(t *testing.T) {
	var b bytes.Buffer
	must.Succeed(t, printVerdict(quote.NewTerminal(&b), false, harness.Verdict{Outcome: harness.Violated}))
	if !strings.HasPrefix(b.String(), "violated ") || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
}
