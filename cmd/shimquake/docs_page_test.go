package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/shimquake/shimquake/must"
)

// checkout is the folder whose pages are read.
const checkout = "../.."

// snippet is code in a page, or the target of a link.
type snippet struct {
	page string // beneath the checkout
	line int
	lang string // of a block; an indented block is sh
	text string
}

// docPage is the content of a page.
type docPage struct {
	name                 string
	blocks, spans, links []snippet
}

// pages returns all pages that people read.
func pages(t *testing.T) (all []docPage) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/bugs/*.md", "catalogue/bugs/*.md"} {
		files, err := filepath.Glob(filepath.Join(checkout, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no page is %s: %v", pattern, err)
		}
		for _, f := range files {
			all = append(all, readPage(t, strings.TrimPrefix(f, checkout+"/")))
		}
	}
	return all
}

func readPage(t *testing.T, name string) docPage {
	t.Helper()
	source := must.Get(os.ReadFile(filepath.Join(checkout, name)))(t)
	p := docPage{name: name}
	at := func(offset int, lang, code string) snippet {
		return snippet{name, 1 + strings.Count(string(source[:offset]), "\n"), lang, code}
	}
	lines := func(n ast.Node, lang string) {
		if all := n.Lines(); all.Len() > 0 {
			p.blocks = append(p.blocks, at(all.At(0).Start, lang, string(all.Value(source))))
		}
	}
	doc := goldmark.New().Parser().Parse(text.NewReader(source))
	must.Succeed(t, ast.Walk(doc, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if !in {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			lines(n, string(n.Language(source)))
		case *ast.CodeBlock:
			lines(n, "sh")
		case *ast.CodeSpan:
			if first, ok := n.FirstChild().(*ast.Text); ok {
				var code strings.Builder
				for c := n.FirstChild(); c != nil; c = c.NextSibling() {
					if part, ok := c.(*ast.Text); ok {
						code.Write(part.Segment.Value(source))
					}
				}
				p.spans = append(p.spans, at(first.Segment.Start, "", strings.ReplaceAll(code.String(), "\n", " ")))
			}
		case *ast.Link:
			p.links = append(p.links, snippet{page: name, line: 0, text: string(n.Destination)})
		}
		return ast.WalkContinue, nil
	}))
	return p
}

// command is one command of a page.
type command struct {
	snippet
	words []string // without sudo and variables
}

// String returns the command as scripts write it.
func (c command) String() string { return strings.Join(c.words, " ") }

// commandsOf returns the commands of a shell text. Pipes and lists are taken apart.
func commandsOf(s snippet) (all []command, err error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(s.text), s.page)
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || err != nil || len(call.Args) == 0 {
			return err == nil
		}
		var words []string
		for _, w := range call.Args {
			word, werr := expand.Literal(nil, w)
			words, err = append(words, word), errors.Join(err, werr)
		}
		at := s
		at.line += int(call.Pos().Line()) - 1
		all = append(all, command{at, withoutSudo(words)})
		return true
	})
	return all, err
}

var assigns = regexp.MustCompile(`^[A-Z_]+=`)

// withoutSudo removes sudo and the variables that it sets.
func withoutSudo(words []string) []string {
	for len(words) > 0 && (words[0] == "sudo" || assigns.MatchString(words[0])) {
		words = words[1:]
	}
	return words
}

// console returns the commands of a session, each after "$ ", and their outputs.
func console(s snippet) (commands []snippet, outputs []string) {
	for n, line := range strings.Split(strings.TrimSuffix(s.text, "\n"), "\n") {
		if typed, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, snippet{s.page, s.line + n, "sh", typed})
			outputs = append(outputs, "")
		} else if len(outputs) > 0 {
			outputs[len(outputs)-1] += line + "\n"
		}
	}
	return commands, outputs
}
