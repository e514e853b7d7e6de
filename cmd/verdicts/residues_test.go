package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// A TaskDelete that is missing in one spec is a race. If it is missing in every spec, it
// is never sent.
func TestResiduesOfAllSpecs(t *testing.T) {
	spec := `{"LeafNodeType":"It","LeafNodeText":"holds","State":"passed","ReportEntries":[{"Name":"verdict","Value":{
		"Representation":"held","AsJSON":"{\"residues\":[
		{\"residue\":\"taskdelete-lost\",\"left\":%d,\"of\":1,\"most\":0.5}]}"}}]}`
	spec = strings.ReplaceAll(spec, "\n\t\t", "")
	for lost, want := range map[int]int{10: 0, 30: 1} {
		var specs []string
		for i := range 30 {
			left := 0
			if i < lost {
				left = 1
			}
			specs = append(specs, fmt.Sprintf(spec, left))
		}
		found := must.Get(readReports(strings.NewReader(
			`[{"SuitePath":"/x/suites/a","SuiteSucceeded":true,"SpecReports":[` + strings.Join(specs, ",") + `]}]`)))(t)
		if rows := tooOften(found.residues); len(rows) != want || want > 0 && !strings.Contains(rows[0].reason, "30 of 30") {
			t.Errorf("%d of 30 lost: %+v", lost, rows)
		}
	}
}

// The outcomes of a spec's cases come from the entries of suites/spec, each once.
func TestVerdictsOfASpec(t *testing.T) {
	entry := `{"Name":"verdict","Value":{"AsJSON":"{\"verdict\":\"%s\",\"known\":\"%s\"}"}}`
	var entries []string
	for _, e := range [][2]string{{"held", ""}, {"violated", "containerd#8981"}, {"violated", "containerd#8981"}} {
		entries = append(entries, fmt.Sprintf(entry, e[0], e[1]))
	}
	found, err := readReports(strings.NewReader(`[{"SuitePath":"/x/suites/a","SuiteSucceeded":true,"SpecReports":[
		{"LeafNodeType":"It","State":"passed","ReportEntries":[` + strings.Join(entries, ",") + `]}]}]`))
	if err != nil || len(found.rows) != 1 {
		t.Fatalf("%+v, %v", found.rows, err)
	}
	r := found.rows[0]
	if list(r.outcomes) != "held, violated" || list(r.known) != "containerd#8981" {
		t.Errorf("outcomes %q, known %q", r.outcomes, r.known)
	}
}
