package harness

import (
	"errors"
	"fmt"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/shimquake/shimquake/foreign"
)

// The limits of a case's text form. The cases of the catalogue need less than a tenth of
// each limit, except for one with 36 containers.
const (
	maxText      = 256 << 10 // bytes
	maxTokens    = 10_000
	maxLevels    = 64
	maxListed    = 100 // containers, faults of a plan, steps of a pause, and bugs
	maxKeyErrors = 20  // reported errors of keys
	maxName      = 200 // bytes
)

// maxTime is the largest duration in a workload.
const maxTime = time.Hour

// parseYAML checks the limits, and then parses the text form of a case. The check comes
// first, because the library's time and memory grow with the square of the levels and
// keys.
func (p caseParser) parseYAML(text []byte) (*ast.File, error) {
	if len(text) > maxText {
		return nil, p.at("", &foreign.LimitError{Name: "the case", Most: maxText, Unit: foreign.Bytes})
	}
	tokens := lexer.Tokenize(string(text))
	if err := p.checkTokens(tokens); err != nil {
		return nil, err
	}
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, p.wrap(err)
	}
	return tree, nil
}

// checkTokens returns an error for aliases, and for lists and mappings that are too deep.
func (p caseParser) checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return p.token(tokens[maxTokens],
			fmt.Errorf("the file has more than %d words and signs: that is the limit", maxTokens))
	}
	var columns []int // the columns of the blocks around the token
	flow := 0
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return p.token(t, errors.New("anchors and aliases are not supported: repeat the value"))
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		}
		if flow == 0 {
			for len(columns) > 0 && columns[len(columns)-1] >= t.Position.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, t.Position.Column)
		}
		if flow+len(columns) > maxLevels {
			return p.token(t, fmt.Errorf("the file is nested deeper than %d levels: that is the limit", maxLevels))
		}
	}
	return nil
}

// token returns err with the file, line and column of a token.
func (p caseParser) token(t *token.Token, err error) error {
	return &InputError{File: p.file, Line: t.Position.Line, Column: t.Position.Column, Err: err}
}

// checkLists returns an error for each list that is too long.
func (p caseParser) checkLists(ct caseText) (errs []error) {
	check := func(path, what string, n int) {
		if n > maxListed {
			errs = append(errs, p.at(path, fmt.Errorf("%d %s: at most %d are allowed", n, what, maxListed)))
		}
	}
	check("workload.containers", "containers", len(ct.Workload.Containers))
	check("plan", "faults", len(ct.Plan))
	check("bugs", "bugs", len(ct.Bugs))
	for i, f := range ct.Plan[:min(len(ct.Plan), maxListed)] {
		check(fmt.Sprintf("plan[%d].meanwhile", i), "steps", len(f.Meanwhile))
	}
	return errs
}
