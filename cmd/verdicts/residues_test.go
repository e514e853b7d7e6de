package main

import (
	"fmt"
	"strings"
	"testing"
)

// A TaskDelete that one spec lacks is a race; one that every spec lacks is never sent.
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
		found, err := readReports(strings.NewReader(
			`[{"SuitePath":"/x/suites/a","SuiteSucceeded":true,"SpecReports":[` + strings.Join(specs, ",") + `]}]`))
		if err != nil {
			t.Fatal(err)
		}
		if rows := tooOften(found.residues); len(rows) != want || want > 0 && !strings.Contains(rows[0].reason, "30 of 30") {
			t.Errorf("%d of 30 lost: %+v", lost, rows)
		}
	}
}
