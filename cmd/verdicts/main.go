// Command verdicts reads the reports of go test and Ginkgo, and prints a table or a
// count. It exits with 1 if a test failed or if none ran. With -strict it also fails for
// left-out tests. These are tests that were skipped for a reason that is not in
// skips.yaml, and suites that ran nothing.
//
//	go test -json ./... | verdicts -stream out/unit/events.json
//	verdicts -unit out/unit/events.json -unit-exit 0 -specs out/suites/specs.json -specs-exit 1 -table -strict
//
// The last line is always `N passed, N failed, N skipped`, except with -stream, which
// only shows progress.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/quote"
)

// params are the arguments of the command line.
type params struct {
	verbose   bool   // with stream: show the output of all tests.
	stream    string // a file that keeps the go test events of stdin.
	unit      string // a file of go test -json events.
	unitExit  int    // the exit status of that go test.
	specs     string // a file of Ginkgo's --json-report.
	specsExit int    // the exit status of that ginkgo.
	table     bool   // print one row a spec.
	markdown  bool   // print the table in GitHub's Markdown.
	strict    bool   // left-out tests are failures.
}

func main() {
	var p params
	flag.StringVar(&p.stream, "stream", "", "show the results of go test -json from stdin, and keep its events in `FILE`")
	flag.BoolVar(&p.verbose, "verbose", false, "with -stream: show the output of all tests, also of passed ones")
	flag.StringVar(&p.unit, "unit", "", "go test -json events in `FILE`")
	flag.IntVar(&p.unitExit, "unit-exit", 0, "exit `STATUS` of that go test")
	flag.StringVar(&p.specs, "specs", "", "Ginkgo's JSON report in `FILE`")
	flag.IntVar(&p.specsExit, "specs-exit", 0, "exit `STATUS` of that ginkgo")
	flag.BoolVar(&p.table, "table", false, "print one row a spec")
	flag.BoolVar(&p.markdown, "markdown", false, "print the table in GitHub's Markdown")
	flag.BoolVar(&p.strict, "strict", false,
		"fail for left-out tests: skips that are not in skips.yaml, suites that ran nothing")
	flag.Parse()
	if flag.NArg() > 0 || p.stream == "" && p.unit == "" && p.specs == "" {
		flag.Usage()
		os.Exit(2)
	}
	err := run(p, os.Stdin, quote.NewTerminal(os.Stdout))
	if errors.Is(err, errFailed) {
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintln(quote.NewTerminal(os.Stderr), "verdicts:", err)
		os.Exit(3)
	}
}

// errFailed reports a failure in readable reports, which has been printed already.
var errFailed = errors.New("something failed")

func run(p params, in io.Reader, out io.Writer) error {
	if p.stream != "" {
		return keepStream(p.stream, p.verbose, in, out)
	}
	var rows []row
	if p.unit != "" {
		found, err := readFile(p.unit, readEvents)
		if err != nil {
			return err
		}
		rows = append(rows, orNothingRan(found, "go test", p.unitExit)...)
	}
	var unselected []unselectedSuite
	var residues []rate.Count
	notSelected := 0
	if p.specs != "" {
		found, err := readSpecs(p.specs, p.specsExit)
		if err != nil {
			return err
		}
		notSelected, unselected = found.notSelected, found.unselected
		rows = append(rows, orNothingRan(found.rows, "the suites", p.specsExit)...)
		rows = append(rows, tooOften(found.residues)...)
		residues = rate.Sum(found.residues)
	}
	if p.strict {
		rows = append(rows, leftOut(rows, unselected)...)
	}
	switch {
	case p.markdown:
		printMarkdown(out, rows)
	case p.table:
		printTable(out, rows)
	default:
		printFailures(out, rows)
	}
	printSkips(out, rows, p.markdown)
	for _, c := range residues {
		put(out, "residue %s\n", c)
	}
	return printCount(out, rows, notSelected)
}

func keepStream(path string, verbose bool, in io.Reader, out io.Writer) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("keep the events of go test: %w", err)
	}
	err = stream(io.TeeReader(in, f), verbose, out)
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("keep the events of go test: %w", closeErr)
	}
	return err
}

func readFile[T any](path string, read func(io.Reader) (T, error)) (T, error) {
	f, err := os.Open(path)
	if err != nil {
		var none T
		return none, fmt.Errorf("read a report: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	found, err := read(f)
	if err != nil {
		return found, fmt.Errorf("read %s: %w", path, err)
	}
	return found, nil
}

// readSpecs reads Ginkgo's report. A ginkgo that failed before it wrote one is a failed
// row and not an error of this program.
func readSpecs(path string, exit int) (specReport, error) {
	found, err := readFile(path, readReports)
	if exit != 0 && errors.Is(err, os.ErrNotExist) {
		return specReport{}, nil
	}
	return found, err
}
