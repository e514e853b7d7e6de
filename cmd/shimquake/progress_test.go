package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// Where there is no terminal a sweep of ten minutes says ten lines, not none and not
// thousands.
func TestProgressIsALineAMinute(t *testing.T) {
	l := newLines(600)
	var told []string
	for i := range 600 {
		if line := l.step(l.began.Add(time.Duration(i+1)*time.Second), "3 violated"); line != "" {
			told = append(told, line)
		}
	}
	if len(told) != 9 || told[0] != "shimquake: 60 of 600 cases, 1.0/s, 9m0s left: 3 violated" {
		t.Errorf("%d lines: %q", len(told), told)
	}
}

func TestNoColourButOnATerminal(t *testing.T) {
	var b bytes.Buffer
	if got := coloured(&b, harness.Violated, "violated x"); strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
