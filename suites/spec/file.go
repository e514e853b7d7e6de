package spec

import (
	"context"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/shimquake/shimquake/harness"
)

// group has specs about one behaviour, in a file of a suite.
type group struct {
	Describe string   `yaml:"describe"`
	Labels   []string `yaml:"labels"`
	Specs    []struct {
		It     string   `yaml:"it"`
		Labels []string `yaml:"labels"`
		Case   ast.Node `yaml:"case"` // a case, or the name of a case of the catalogue
	} `yaml:"specs"`
}

// File makes the specs of a YAML file, which is named by its path in the checkout. In
// each spec a case holds (see Holds). Then shows checks the history of the case, by its
// name. File panics if the file is invalid, or if it has no case for a name in shows.
func File(name, text string, shows map[string]func(harness.Verdict)) bool {
	tree, err := parser.ParseBytes([]byte(text), 0)
	var groups []group
	if err == nil {
		err = yaml.NodeToValue(tree.Docs[0].Body, &groups, yaml.Strict())
	}
	if err != nil {
		panic(harness.PlaceYAML(name, err))
	}
	var all []harness.Case
	for i, g := range groups {
		cases := make([]harness.Case, len(g.Specs))
		for n, s := range g.Specs {
			cases[n] = caseAt(name, tree, fmt.Sprintf("$[%d].specs[%d].case", i, n), s.Case)
		}
		all = append(all, cases...)
		ginkgo.Describe(g.Describe, decorators(g.Labels), func() {
			for n, s := range g.Specs {
				at := types.CodeLocation{FileName: name, LineNumber: s.Case.GetToken().Position.Line}
				ginkgo.It(s.It, at, decorators(s.Labels), func(ctx context.Context) {
					v := Holds(ctx, cases[n])
					if show := shows[cases[n].Name]; show != nil {
						show(v)
					}
				})
			}
		})
	}
	CheckNames(all, shows)
	return true
}

// caseAt returns a case of the file, or one of the catalogue.
func caseAt(name string, tree *ast.File, path string, node ast.Node) harness.Case {
	if known, is := node.(*ast.StringNode); is {
		return Named(known.Value)
	}
	c, err := harness.ParseCaseAt(name, tree, path)
	if err != nil {
		panic(err)
	}
	return c
}

// decorators returns Ginkgo's decorators for labels: a slow spec begins early, too.
func decorators(labels []string) (all []any) {
	for _, l := range labels {
		if l == "slow" {
			all = append(all, Slow)
			continue
		}
		all = append(all, ginkgo.Label(l))
	}
	return all
}

// CheckNames panics if a name in shows is not the name of a case.
func CheckNames(cases []harness.Case, shows map[string]func(harness.Verdict)) {
	for name := range shows {
		if !slices.ContainsFunc(cases, func(c harness.Case) bool { return c.Name == name }) {
			panic("no case has the name " + name)
		}
	}
}
