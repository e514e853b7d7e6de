// Package filing makes the text of an upstream issue for a bug of the catalogue. People
// write the words in issues/ID.yaml. `make filings` records a run and the quoted lines of
// containerd's source.
package filing

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
)

// files has an ID.yaml for each bug that can be filed, and recorded.jsonl. It has an
// ID.patch if only a change of containerd makes the bug reproducible.
//
//go:embed issues
var files embed.FS

// Filing has the words of an issue, which people write.
type Filing struct {
	Bug catalogue.Bug `yaml:"-"`
	// SameAs is the id of a bug with the same root cause. The issue of that bug covers
	// this one, so all other fields are empty.
	SameAs string `yaml:"sameAs,omitempty"`
	// CommentOn is an upstream issue that already reports this bug, "containerd#11037". The
	// text then is a comment on it. The default for a bug with the id containerd-NUMBER is
	// that issue.
	CommentOn string `yaml:"commentOn,omitempty"`
	// Description says in one paragraph what happens, and on which nodes.
	Description string `yaml:"description"`
	// Steps tell what a user does with ctr, crictl or some lines of Go, in Markdown.
	// Filing.Text puts the commands that set up the machine before them. It adds the names
	// of the rebuilt binaries to the sentence "Start containerd with the change below".
	Steps string `yaml:"steps"`
	// Expected and Actual are the expected and the actual result.
	Expected string `yaml:"expected"`
	Actual   string `yaml:"actual"`
	// Cause is the root cause, in about three sentences. Code has the lines of it.
	Cause string `yaml:"cause"`
	Code  []Code `yaml:"code"`
	// Direction says how upstream could fix the bug.
	Direction string `yaml:"direction"`
	// Stuck is "PROCESS FUNCTION" if a goroutine of the recorded run must hang in that
	// function, or "panic FUNCTION" if it must panic there.
	Stuck string `yaml:"stuck,omitempty"`
	// LogUntil is a part of the last log line that belongs to the bug. Later lines come from
	// the end of the test.
	LogUntil string `yaml:"logUntil,omitempty"`
	// Run is the recorded case. The default is the bug's first case. If there is a patch,
	// that case runs without its faults, because the patch triggers the bug. Patch is a
	// change of containerd's source, as git prints it.
	Run   harness.Case `yaml:"-"`
	Patch string       `yaml:"-"`
}

// Code quotes a line of containerd's source.
type Code struct {
	// In has the file and the function: "core/runtime/v2/shim.go shimTask.delete".
	In string `yaml:"in"`
	// Line is a part of one line of that function. If it is in several lines, After selects
	// the first of them below the first line that contains After.
	Line  string `yaml:"line"`
	After string `yaml:"after,omitempty"`
	// Says tells what the line does when the bug happens.
	Says string `yaml:"says"`
}

// Recorded has what `make filings` recorded for an issue.
type Recorded struct {
	Bug     string `json:"bug"`
	Release string `json:"release"`
	// Digest is Filing.Digest at the time of the record. If they differ, the record is out
	// of date.
	Digest string `json:"digest"`
	// Lines and Texts are the numbers and the texts of the lines of Filing.Code, in its
	// order.
	Lines []int    `json:"lines"`
	Texts []string `json:"texts"`
	// Errors are the failed calls of the client. Log has the lines that containerd logs only
	// with the fault. Left has the findings.
	Errors []string `json:"errors,omitempty"`
	Log    []string `json:"log,omitempty"`
	Left   []string `json:"left"`
	// Stack is the stack of the goroutine of Filing.Stuck.
	Stack string `json:"stack,omitempty"`
	// Config is containerd's configuration, if the client used CRI. Machine has the versions
	// of the kernel, of cgroups and of runc.
	Config  string   `json:"config,omitempty"`
	Machine []string `json:"machine"`
}

// All returns all filings by the ids of their bugs.
func All() (map[string]Filing, error) {
	names, err := fs.Glob(files, "issues/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]Filing{}
	for _, name := range names {
		id := strings.TrimSuffix(path.Base(name), ".yaml")
		if all[id], err = read(id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// read returns the filing of a bug. If there is none, the error is fs.ErrNotExist.
func read(id string) (Filing, error) {
	name := "issues/" + id + ".yaml"
	text, err := files.ReadFile(name)
	if err != nil {
		return Filing{}, err
	}
	patch, err := files.ReadFile("issues/" + id + ".patch")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Filing{}, err
	}
	f, err := parse(id, text, string(patch))
	if err != nil {
		return Filing{}, fmt.Errorf("catalogue/filing/%s: %w", name, err)
	}
	return f, nil
}

// IssueOf returns the id of the bug whose issue covers this bug: the id itself, or SameAs
// of its filing. It returns "" if there is no issue.
func IssueOf(id string) string {
	text, err := files.ReadFile("issues/" + id + ".yaml")
	if err != nil {
		return ""
	}
	var f struct {
		SameAs string `yaml:"sameAs"`
	}
	if err := yaml.Unmarshal(text, &f); err != nil || f.SameAs == "" {
		return id // All returns the error
	}
	return f.SameAs
}

func parse(id string, text []byte, patch string) (Filing, error) {
	b, err := catalogue.FindBug(id)
	if err != nil {
		return Filing{}, err
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Filing{}, err
	}
	var f struct {
		Filing `yaml:",inline"`
		Run    ast.Node `yaml:"run,omitempty"`
	}
	if err := yaml.NodeToValue(tree.Docs[0].Body, &f, yaml.Strict()); err != nil {
		return Filing{}, err
	}
	f.Bug, f.Patch = b, patch
	if f.SameAs != "" {
		return f.Filing, nil
	}
	if f.Run != nil {
		f.Filing.Run, err = harness.ParseCaseAt(id+".yaml", tree, "$.run")
	} else if c, ok := b.Case(); ok {
		if patch != "" {
			c.Plan = nil
		}
		f.Filing.Run = c
	} else {
		err = fmt.Errorf("%s has no case: write the case that is to be recorded under the key run", id)
	}
	return f.Filing, err
}

// Thread returns the upstream issue on which the text is a comment. It returns false if
// the text is a new issue.
func (f Filing) Thread() (t catalogue.Thread, ok bool) {
	name := f.CommentOn
	if number, is := strings.CutPrefix(f.Bug.ID, "containerd-"); is && name == "" {
		name = "containerd#" + number
	}
	return catalogue.Thread{Word: "issue", Name: name}, name != ""
}

// Digest returns the digest of everything that a record depends on: the case, the patch
// and the quoted lines. It does not depend on the words of the issue.
func (f Filing) Digest() string {
	run := f.Run
	run.Name, run.About, run.Issues, run.Bugs = "", "", nil, nil
	code := make([]Code, len(f.Code))
	for i, c := range f.Code {
		code[i] = Code{In: c.In, Line: c.Line, After: c.After}
	}
	text, _ := json.Marshal([]any{run.String(), f.Patch, code, f.Stuck, f.LogUntil})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Release returns the newest release that is known to have the bug.
func (f Filing) Release() string {
	branches := f.Bug.Releases.Branches()
	if len(branches) == 0 {
		return ""
	}
	return f.Bug.Releases[branches[len(branches)-1]].Last()
}

// Read parses records, one JSON object per line.
func Read(text []byte) (map[string]Recorded, error) {
	all := map[string]Recorded{}
	for lines := json.NewDecoder(bytes.NewReader(text)); lines.More(); {
		var r Recorded
		if err := lines.Decode(&r); err != nil {
			return nil, fmt.Errorf("read the records of make filings: %w", err)
		}
		all[r.Bug] = r
	}
	return all, nil
}

// Of returns the filing of a bug and its record. The error says why the bug has no issue.
func Of(b catalogue.Bug) (Filing, Recorded, error) {
	if why := WhyNone(b); why != "" {
		return Filing{}, Recorded{}, fmt.Errorf("%s has no issue, because %s", b.ID, why)
	}
	f, err := read(b.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return f, Recorded{}, fmt.Errorf("%s has no issue yet: write catalogue/filing/issues/%s.yaml, and "+
			"record its run with make filings", b.ID, b.ID)
	}
	if err != nil {
		return f, Recorded{}, err
	}
	if f.SameAs != "" {
		return f, Recorded{}, fmt.Errorf("%s has the root cause of %s, whose issue covers it: shimquake show %s --issue",
			b.ID, f.SameAs, f.SameAs)
	}
	text, err := files.ReadFile("issues/recorded.jsonl")
	if err != nil {
		return f, Recorded{}, err
	}
	records, err := Read(text)
	if err != nil {
		return f, Recorded{}, err
	}
	r, ok := records[b.ID]
	if !ok || r.Digest != f.Digest() {
		return f, r, fmt.Errorf("the recorded run of %s is out of date, because its issue changed: run make filings", b.ID)
	}
	return f, r, nil
}

// WhyNone returns the reason why a bug is not filed upstream, or "".
func WhyNone(b catalogue.Bug) string {
	switch {
	case b.Kind == catalogue.Residue:
		return "it is a residue, which is harmless and expected"
	case b.Kind == catalogue.Unconfirmed:
		return "it is unconfirmed: no real error in containerd is known to trigger it"
	case len(b.Cases) == 0 && IssueOf(b.ID) == "":
		return "no case reproduces it"
	}
	return ""
}
