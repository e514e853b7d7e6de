package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestPageIsFresh holds docs/performance.md against what was measured.
func TestPageIsFresh(t *testing.T) {
	measured, err := os.Open("../../docs/performance.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = measured.Close() }()
	var want bytes.Buffer
	if err := run(false, measured, &want); err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../docs/performance.md")
	if err != nil || !bytes.Equal(have, want.Bytes()) {
		t.Errorf("docs/performance.md is not what docs/performance.txt makes (%v): run make performance", err)
	}
}

// TestEveryFigureIsNeeded takes each line of what was measured away, once.
func TestEveryFigureIsNeeded(t *testing.T) {
	text, err := os.ReadFile("../../docs/performance.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	needed := 0
	for n, line := range lines {
		rest := strings.Join(append(append([]string{}, lines[:n]...), lines[n+1:]...), "")
		var out bytes.Buffer
		if err := run(false, strings.NewReader(rest), &out); err != nil {
			needed++
			if !strings.Contains(err.Error(), "make bench") {
				t.Errorf("without %q: %v", line, err)
			}
		}
	}
	if needed < 4+12 {
		t.Errorf("only %d lines are needed", needed)
	}
	var out bytes.Buffer
	if err := run(false, strings.NewReader("BenchmarkCase 1 x\n"), &out); err == nil {
		t.Error("what is no benchmark was taken")
	}
}

func TestMachine(t *testing.T) {
	var out bytes.Buffer
	if err := run(true, nil, &out); err != nil {
		t.Fatal(err)
	}
	f, err := read(strings.NewReader(out.String() + "BenchmarkX 1 1 ns/op\n"))
	if err != nil || f.about("cores") == "" || f.about("kernel") == "" || f.about("cgroups") == "" || len(f.missing) > 0 {
		t.Errorf("%v, %v of %s", err, f, &out)
	}
}
