package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/onsi/ginkgo/v2/reporters"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
)

// JUnitFile is the name of the report for CI systems.
const JUnitFile = "junit.xml"

// junit collects the test cases. A known violation becomes a skipped test, because it
// neither fails the run nor counts as passed.
type junit struct{ suite reporters.JUnitTestSuite }

func (j *junit) add(c Case, known []string) {
	v := c.Verdict
	t := reporters.JUnitTestCase{Name: quote.Line(v.Name),
		Classname: quote.Line(strings.TrimSpace(c.ID + " " + c.Workload)),
		Status:    string(v.Outcome), Time: v.Took.Seconds()}
	says := quote.Block(v.String(), "")
	switch {
	case v.Outcome != harness.Held && len(known) > 0:
		t.Skipped = &reporters.JUnitSkipped{Message: quote.Line("known: " + strings.Join(known, ", "))}
		j.suite.Skipped++
	case v.Outcome == harness.Violated:
		t.Failure = &reporters.JUnitFailure{Message: quote.Line(Reason(v)), Type: "violated",
			Description: says + "\n" + quote.Block(c.Replay, "")}
		j.suite.Failures++
	case v.Outcome == harness.Invalid:
		t.Error = &reporters.JUnitError{Message: quote.Line(Reason(v)), Type: "invalid", Description: says}
		j.suite.Errors++
	}
	j.suite.Tests++
	j.suite.Time += t.Time
	j.suite.TestCases = append(j.suite.TestCases, t)
}

func (j *junit) write(w io.Writer, d Data) error {
	if d.Lacks != "" { // a case that did not run must not look like one that passed
		j.suite.Tests++
		j.suite.Errors++
		j.suite.TestCases = append(j.suite.TestCases, reporters.JUnitTestCase{Name: "every planned case runs",
			Classname: "shimquake", Status: string(harness.Invalid),
			Error: &reporters.JUnitError{Message: quote.Line(d.Lacks), Type: "cut off"}})
	}
	s := j.suite
	s.Name, s.Timestamp = quote.Line(d.Title), d.Made.Format("2006-01-02T15:04:05")
	all := reporters.JUnitTestSuites{Tests: s.Tests, Errors: s.Errors, Failures: s.Failures, Disabled: s.Skipped,
		Time: s.Time, TestSuites: []reporters.JUnitTestSuite{s}}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	_, err := io.WriteString(w, xml.Header)
	if err == nil {
		err = e.Encode(all)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", JUnitFile, err)
	}
	return nil
}
