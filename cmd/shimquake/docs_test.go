package main

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// TestCommandsOfThePages checks that each command of each page exists, with the names in
// it. A script must run each quick command.
func TestCommandsOfThePages(t *testing.T) {
	ran := scripted(t)
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			commands, err := checkBlock(b)
			must.Equal(t, err, nil, b.page, b.line)
			for _, c := range commands {
				n++
				if err := checkTyped(c); err != nil {
					t.Errorf("%s:%d: %s: %v", c.page, c.line, c, err)
				} else if isOurs(c) && mustRun(c.words[1:]) && !ran[strings.Join(c.words[1:], " ")] {
					t.Errorf("%s:%d: no script in testdata/script runs: shimquake %s", c.page, c.line, strings.Join(c.words[1:], " "))
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d commands were found", n)
	}
}

func isOurs(c command) bool { return path.Base(c.words[0]) == "shimquake" }

// TestCodeInSentences checks commands and files inside sentences.
func TestCodeInSentences(t *testing.T) {
	names := namesOfFiles(t)
	n := 0
	for _, p := range pages(t) {
		for _, s := range p.spans {
			must.Equal(t, checkSpan(s, names), nil, s.page, s.line, s.text)
			n++
		}
	}
	if n < 500 {
		t.Errorf("only %d were found", n)
	}
}

// TestLinks checks that the targets of links exist.
func TestLinks(t *testing.T) {
	n := 0
	for _, p := range pages(t) {
		for _, l := range p.links {
			u, err := url.Parse(l.text)
			if err == nil && (u.Scheme != "" || u.Path == "") {
				continue
			}
			n++
			if err == nil {
				_, err = os.Stat(filepath.Join(checkout, filepath.Dir(l.page), u.Path))
			}
			must.Equal(t, err, nil, l.page, "a link")
		}
	}
	if n < 100 {
		t.Errorf("only %d links were found", n)
	}
}

// TestBadPagesAreSeen breaks each rule once.
func TestBadPagesAreSeen(t *testing.T) {
	for _, b := range []snippet{
		{lang: "", text: "x"}, {lang: "python", text: "x"}, {lang: "console", text: "x"},
		{lang: "text", text: "sudo shimquake run"}, {lang: "sh", text: "echo 'x"},
		{lang: "yaml", text: "name: x\nplan: [{at: nowhere}]"},
		{lang: "diff", text: "+package main\n"}, {lang: "diff", text: "+++ none.go\n+package main\n"},
		{lang: "diff", text: "+++ sources.go\n+package main\n"},
	} {
		must.Fail(t, must.ErrorOf(checkBlock(b)), "a block was taken", b)
	}
	for _, typed := range []string{
		"shimquake rnu x", "shimquake run", "shimquake run shutdown-eror-once",
		"shimquake run --cuont 2 shutdown-error-once",
		"shimquake run --containerd v2.3.99 shutdown-error-once", "shimquake show containerd-1",
		"shimquake build v9.9.9",
		"shimquake matrix --releases v9.9.9", "shimquake sweep --who nobody", "shimquake sweep --shard 3/2",
		"shimquake list pints",
		"shimquake bisect shutdown-error-once --good v2.4.2 --bad v9.9.9", "sudo make suite",
		"make suites CONTIANERD=v2.4.2",
		"vagrant up v3", "go test ./nowhere/...", "kubectl apply -f deploy/none.yaml", "xyzzy", "scripts/none",
	} {
		commands, err := commandsOf(snippet{text: typed})
		if err == nil && len(commands) == 1 {
			err = checkTyped(commands[0])
		}
		must.Fail(t, err, typed, "was taken")
	}
	for _, typed := range []string{"`shimquake show x-y`", "`oracle/none.go`", "`none_such.go`", "`make nothing`"} {
		if checkSpan(snippet{text: strings.Trim(typed, "`")}, namesOfFiles(t)) == nil {
			t.Errorf("%s was taken", typed)
		}
	}
}
