package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// Where stderr is no terminal a line is told a minute, and none when all is done.
func TestProgressWithoutATerminal(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := &progress{total: 300, to: &out, began: now, told: now, now: func() time.Time { return now }}
	for range 300 {
		now = now.Add(time.Second / 2)
		p.step("all held")
	}
	want := "120 of 300 cases, 2.0 a second, 1m30s left: all held\n240 of 300 cases, 2.0 a second, 30s left: all held\n"
	if out.String() != want {
		t.Errorf("told\n%swant\n%s", out.String(), want)
	}
}

func TestNoColourButOnATerminal(t *testing.T) {
	var b bytes.Buffer
	if got := coloured(&b, harness.Violated, "violated x"); strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
