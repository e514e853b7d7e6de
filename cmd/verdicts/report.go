package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/report"
)

// specCase is a case of a spec, as suites/spec has recorded it in Ginkgo's report.
type specCase struct {
	suite, spec string
	failure     string // of the spec; "": it has passed

	Outcome harness.Outcome `json:"verdict"`
	Known   string          `json:"known"`
	File    string          `json:"file"`
	At      harness.Part    `json:"at"`
	Without harness.Part    `json:"without"`
}

// historiesDir is spec.HistoriesDir, which this small program does not link.
const historiesDir = "histories"

// casesIn returns the cases of a spec whose histories are kept.
func casesIn(suite string, spec types.SpecReport, failure string) (all []specCase) {
	for _, e := range spec.ReportEntries {
		c := specCase{suite: suite, spec: spec.FullText(), failure: failure}
		if e.Name == verdictEntry && json.Unmarshal([]byte(e.Value.AsJSON), &c) == nil && c.File != "" {
			all = append(all, c)
		}
	}
	return all
}

// suitesReport makes the report of specs in the folder with their histories.
type suitesReport struct {
	dir      string
	data     report.Data
	cases    []report.Case
	clusters map[string]*report.Cluster
	order    []string
	files    map[string]*foreign.File
}

// writeReport writes the report of the suites into the folder with the histories.
func writeReport(p params, found specReport) error {
	r := suitesReport{dir: p.report, clusters: map[string]*report.Cluster{}, files: map[string]*foreign.File{},
		data: report.Data{Title: "The suites", Command: p.command, Made: time.Now(),
			Without: map[string]harness.Verdict{}}}
	var err error
	for _, c := range found.cases {
		err = errors.Join(err, r.add(c))
	}
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return err
	}
	r.data.Says = append(r.data.Says, fmt.Sprintf("Specs: %s.", count(found.rows, "")))
	for _, row := range found.rows {
		if row.verdict == failed && r.clusters[clusterOf(row.name)] == nil {
			r.data.Says = append(r.data.Says, "Failed without a case: "+row.suite+": "+row.name+": "+row.reason)
		}
	}
	for _, id := range r.order {
		r.data.Clusters = append(r.data.Clusters, *r.clusters[id])
	}
	report.SortClusters(r.data.Clusters)
	r.data.Cases = report.All(r.cases)
	return report.Write(p.report, r.data)
}

// add adds a case to the cluster of its finding.
func (r *suitesReport) add(c specCase) error {
	v, err := r.verdict(c.File, c.At)
	if err != nil {
		return err
	}
	out := report.Case{ID: fmt.Sprintf("case-%d", len(r.cases)+1), Verdict: v, Workload: c.suite, Fault: c.spec,
		Replay: report.Replay(v)}
	if c.Without.Len > 0 {
		out.Without = fmt.Sprintf("%s %d", c.File, c.Without.At)
		if _, read := r.data.Without[out.Without]; !read {
			if r.data.Without[out.Without], err = r.verdict(c.File, c.Without); err != nil {
				return err
			}
		}
	}
	r.cases = append(r.cases, out)
	switch {
	case c.failure != "":
		r.cluster(report.New, c.spec, c.suite+": "+c.spec, c.failure, out)
	case c.Outcome == harness.Held:
	case c.Known != "":
		r.cluster(report.Known, c.Known, c.Known, c.suite+": "+c.spec, out)
	default:
		r.cluster(report.Known, "as-the-spec-wants",
			"Not held, as the spec expects: it breaks something on purpose", c.suite+": "+c.spec, out)
	}
	return nil
}

// maxSaid is the most lines of a cluster; all its cases are listed.
const maxSaid = 4

// cluster adds a case to a cluster, and its line unless the cluster has an equal one.
func (r *suitesReport) cluster(state report.State, name, title, says string, c report.Case) {
	id := clusterOf(name)
	k := r.clusters[id]
	if k == nil {
		k = &report.Cluster{ID: id, State: state, Title: title, Replay: c.Replay}
		r.clusters[id], r.order = k, append(r.order, id)
	}
	if len(k.Says) < maxSaid && !slices.Contains(k.Says, says) {
		k.Says = append(k.Says, says)
	}
	k.Cases = append(k.Cases, c.ID)
}

var noWord = regexp.MustCompile(`[^a-z0-9]+`)

// clusterOf returns a name that is valid in a permalink.
func clusterOf(text string) string {
	id := strings.Trim(noWord.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return cmp.Or(id[:min(len(id), 80)], "nothing")
}

// verdict reads a history and judges it.
func (r *suitesReport) verdict(name string, at harness.Part) (harness.Verdict, error) {
	f := r.files[name]
	if f == nil {
		var err error
		path := filepath.Join(r.dir, historiesDir, filepath.Base(name))
		if f, err = foreign.Open(path, harness.MaxHistories); err != nil {
			return harness.Verdict{}, err
		}
		r.files[name] = f
	}
	k, err := harness.Unpack(f, name, at)
	v := judge.Judge(k.History, catalogue.Residues())
	v.Evidence = report.EvidenceIn(r.dir, v.Evidence) // a guest has another folder
	return v, err
}
