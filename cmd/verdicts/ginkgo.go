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
)

// specReport is what Ginkgo's JSON report says.
type specReport struct {
	rows        []row
	notSelected int // specs that the label filter or the focus left out: neither run nor skipped
	unselected  []unselectedSuite
	// selected are the specs and the suites of all reports: whether one of them had it run.
	// A suite may have run in parts, with a report each.
	selected map[string]bool
	cases    []specCase   // those whose histories are kept
	residues []rate.Count // what known residues that are races came to, of all verdicts
}

// unselectedSuite is a suite without one selected spec, although nobody asked for some
// specs by their text.
type unselectedSuite struct{ name, filter string }

// readReports reads the file that ginkgo --json-report writes, a list with one report a
// suite, or several such files in one.
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

// add takes the specs of a report. They belong to the folders that they stand in, which
// the tables call suites.
func (found *specReport) add(report types.Report) {
	bad := false
	var asked []string // folders that have a spec in this report
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
			continue // BeforeSuite and its like are no specs, unless they fail
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
		failure := ""
		if r.verdict == failed {
			failure = r.reason
		}
		found.cases = append(found.cases, casesIn(suite, spec, failure)...)
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

// folderOf returns the name of the folder that a spec stands in, or of the report's own
// where it stands nowhere.
func folderOf(report types.Report, spec types.SpecReport) string {
	if file := spec.LeafNodeLocation.FileName; file != "" {
		return filepath.Base(filepath.Dir(file))
	}
	return filepath.Base(report.SuitePath)
}

// isAskedFor reports whether the suite of a spec must run something. It need not where
// specs are chosen by their text, or where other files are chosen.
func isAskedFor(config types.SuiteConfig, spec types.SpecReport) bool {
	if len(config.FocusStrings) > 0 {
		return false
	}
	filters, err := types.ParseFileFilters(config.FocusFiles)
	return err == nil && (len(filters) == 0 || filters.Matches([]types.CodeLocation{spec.LeafNodeLocation}))
}

// leave notes a spec that a report has left out; take one that it has run, or skipped.
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

// verdictOf is what is shown of a verdict that a spec has reported.
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

// once adds a word that is not there yet; "" is none.
func once(words []string, word string) []string {
	if word == "" || slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}

// tooOften is a failed row for each residue that is no race any more.
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

// where is short: the row names the suite's folder already.
func where(at types.CodeLocation) string {
	return fmt.Sprintf("%s:%d", filepath.Base(at.FileName), at.LineNumber)
}

// maxReason is how much of a failure the table shows, in bytes: the whole is in Ginkgo's
// own output and report.
const maxReason = 300

// oneLine makes a table cell of a failure message: Gomega's fill many lines.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + " ..."
	}
	return s
}
