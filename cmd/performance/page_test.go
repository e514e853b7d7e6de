package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// sample has the form of the output of make bench.
const sample = "testdata/bench.txt"

// TestPageIsFresh compares docs/performance.md with docs/performance.txt, the
// measurements. Either both files exist, or neither.
func TestPageIsFresh(t *testing.T) {
	measured, merr := os.ReadFile("../../docs/performance.txt")
	have, herr := os.ReadFile("../../docs/performance.md")
	if os.IsNotExist(merr) && os.IsNotExist(herr) {
		return
	}
	var want bytes.Buffer
	err := errors.Join(merr, herr, run(false, bytes.NewReader(measured), &want))
	if err != nil || !bytes.Equal(have, want.Bytes()) {
		t.Errorf("docs/performance.md is not what docs/performance.txt makes (%v): run make performance", err)
	}
}

// TestPage checks a page: its ratios, its figures and the machine.
func TestPage(t *testing.T) {
	text := must.Get(os.ReadFile(sample))(t)
	var out bytes.Buffer
	must.Succeed(t, run(false, bytes.NewReader(text), &out))
	for _, want := range []string{"2 cores, kernel 6.18", "cgroups hybrid", "2.3 × | 2.1 ×", "takes 91 ms",
		"\n4 | 507 | ", "\na statement | 0.4\n"} {
		must.Contain(t, out.String(), want)
	}
}

// TestEveryFigureIsNeeded removes each line of the measurements once.
func TestEveryFigureIsNeeded(t *testing.T) {
	text := must.Get(os.ReadFile(sample))(t)
	lines := strings.SplitAfter(string(text), "\n")
	needed := 0
	for n, line := range lines {
		rest := strings.Join(append(append([]string{}, lines[:n]...), lines[n+1:]...), "")
		var out bytes.Buffer
		if err := run(false, strings.NewReader(rest), &out); err != nil {
			needed++
			must.Contain(t, err.Error(), "make bench", "without", line)
		}
	}
	if needed < 4+10 {
		t.Errorf("only %d lines are needed", needed)
	}
	var out bytes.Buffer
	must.Fail(t, run(false, strings.NewReader("BenchmarkCase 1 x\n"), &out), "what is no benchmark was taken")
}

func TestMachine(t *testing.T) {
	var out bytes.Buffer
	must.Succeed(t, run(true, nil, &out))
	f, err := read(strings.NewReader(out.String() + "BenchmarkX 1 1 ns/op\n"))
	if err != nil || f.about("cores") == "" || f.about("kernel") == "" || f.about("cgroups") == "" ||
		len(f.missing) > 0 {
		t.Errorf("%v, %v of %s", err, f, &out)
	}
}
