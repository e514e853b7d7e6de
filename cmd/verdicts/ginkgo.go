package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/quote"
)

// specReport has the content of Ginkgo's JSON reports.
type specReport struct {
	rows        []row
	notSelected int // specs that the label filter or the focus left out
	unselected  []unselectedSuite
	// selected has the specs and the suites of all reports, and whether one of the
	// reports has run them. A suite may have run in parts, with a report each.
	selected map[string]bool
	residues []rate.Count // of the known residues that are races, in all verdicts
}

// unselectedSuite is a suite without a selected spec, although no specs were chosen by
// their text.
type unselectedSuite struct{ name, filter string }

// readReports reads the file of ginkgo --json-report, a list with one report a suite, or
// several such files in one.
func readReports(r io.Reader) (specReport, error) {
	found := specReport{selected: map[string]bool{}}
	decoder := json.NewDecoder(r)
	for n := 0; ; n++ {
		var reports []types.Report
		err := decoder.Decode(&reports)
		if n > 0 && errors.Is(err, io.EOF) {
			ran := func(s unselectedSuite) bool { return found.selected[s.name] }
			found.unselected = slices.DeleteFunc(found.unselected, ran)
			return found, nil
		}
		if err != nil {
			return found, fmt.Errorf("not a JSON report of Ginkgo: %w", err)
		}
		for _, report := range reports {
			found.add(report)
		}
	}
}

// add adds the specs of a report. The tables call the folder of a spec its suite.
func (found *specReport) add(report types.Report) {
	bad := false
	var asked []string // folders with a spec in this report
	for _, spec := range report.SpecReports {
		suite := folderOf(report, spec)
		r := row{suite: suite, name: spec.FullText(), seconds: spec.RunTime.Seconds(), reason: oneLine(spec.Failure.Message)}
		key := suite + ": " + r.name
		for _, v := range verdictsOf(spec.ReportEntries) {
			r.outcomes, r.known = once(r.outcomes, v.Outcome), once(r.known, v.Known)
			found.residues = append(found.residues, v.Residues...)
		}
		isSpec := spec.LeafNodeType.Is(types.NodeTypeIt)
		if isSpec && isAskedFor(report.SuiteConfig, spec) {
			asked = once(asked, suite)
		}
		switch {
		case spec.State.Is(types.SpecStateFailureStates):
			r.verdict, bad = failed, true
			r.reason = fmt.Sprintf("%s: %s (%s)", spec.State, r.reason, where(spec.Failure.Location))
			if !isSpec {
				r.name = strings.TrimSpace(spec.LeafNodeType.String() + " " + spec.LeafNodeText)
			}
		case !isSpec:
			continue // BeforeSuite and the like count only if they fail
		case spec.State.Is(types.SpecStatePassed):
			r.verdict = passed
		case spec.State.Is(types.SpecStatePending):
			r.verdict, r.reason = skipped, "pending"
		case spec.State.Is(types.SpecStateSkipped) && spec.Failure.Message != "":
			r.verdict = skipped
		default:
			found.leave(key)
			continue
		}
		found.take(key)
		found.rows = append(found.rows, r)
		found.selected[suite] = true
	}
	if !report.SuiteSucceeded && !bad {
		reason := strings.Join(report.SpecialSuiteFailureReasons, "; ")
		suite := filepath.Base(report.SuitePath)
		found.rows = append(
			found.rows,
			row{suite: suite, name: "the suite runs to its end", verdict: failed, reason: oneLine(reason)},
		)
		found.selected[suite] = true
	}
	if len(report.SpecReports) == 0 && len(report.SuiteConfig.FocusStrings) == 0 {
		asked = once(asked, filepath.Base(report.SuitePath))
	}
	for _, suite := range asked {
		if !found.selected[suite] {
			found.unselected = append(found.unselected, unselectedSuite{suite, report.SuiteConfig.LabelFilter})
		}
	}
}

// folderOf returns the name of a spec's folder, or of the report's folder if the spec has
// none.
func folderOf(report types.Report, spec types.SpecReport) string {
	if file := spec.LeafNodeLocation.FileName; file != "" {
		return filepath.Base(filepath.Dir(file))
	}
	return filepath.Base(report.SuitePath)
}

// isAskedFor reports whether the suite of a spec must run a spec. It need not if specs
// are chosen by their text, or if other files are chosen.
func isAskedFor(config types.SuiteConfig, spec types.SpecReport) bool {
	if len(config.FocusStrings) > 0 {
		return false
	}
	filters, err := types.ParseFileFilters(config.FocusFiles)
	return err == nil && (len(filters) == 0 || filters.Matches([]types.CodeLocation{spec.LeafNodeLocation}))
}

// leave records a spec that a report has left out; take records one that it has run or
// skipped.
func (found *specReport) leave(key string) {
	if _, seen := found.selected[key]; !seen {
		found.selected[key] = false
		found.notSelected++
	}
}

func (found *specReport) take(key string) {
	if selected, seen := found.selected[key]; seen && !selected {
		found.notSelected--
	}
	found.selected[key] = true
}

// verdictOf is the shown part of a verdict that a spec has reported.
type verdictOf struct {
	Outcome  string       `json:"verdict"`
	Known    string       `json:"known"`
	Residues []rate.Count `json:"residues"`
}

func verdictsOf(entries types.ReportEntries) (all []verdictOf) {
	for _, e := range entries {
		var v verdictOf
		if e.Name == verdictEntry && json.Unmarshal([]byte(e.Value.AsJSON), &v) == nil {
			all = append(all, v)
		}
	}
	return all
}

// once adds a word unless it is empty or already there.
func once(words []string, word string) []string {
	if word == "" || slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}

// tooOften returns a failed row for each residue that occurs too often for a race.
func tooOften(all []rate.Count) (rows []row) {
	for _, c := range rate.Sum(all) {
		if c.Exceeds() {
			rows = append(rows, row{suite: "all suites", name: "known residues come by chance only", verdict: failed,
				reason: "residue " + c.String()})
		}
	}
	return rows
}

// verdictEntry is spec.VerdictEntry, which this small program does not link.
const verdictEntry = "verdict"

// where returns a short location: the row has the suite's folder already.
func where(at types.CodeLocation) string {
	return fmt.Sprintf("%s:%d", filepath.Base(at.FileName), at.LineNumber)
}

// maxReason is the most bytes of a failure in the table: Ginkgo's own output and report
// have the whole text.
const maxReason = 300

// oneLine turns a failure message, which Gomega writes in many lines, into a table cell.
func oneLine(s string) string {
	return quote.Cut(strings.Join(strings.Fields(s), " "), maxReason)
}
