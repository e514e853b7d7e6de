// Package filing makes the text of an upstream issue for a bug of the catalogue. People
// write issues/ID.yaml. `make filings` records a run, and the lines of the release's
// source.
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
// ID.patch if the bug needs a change of containerd to come each time.
//
//go:embed issues
var files embed.FS

// Filing has the words of an issue, written by people.
type Filing struct {
	Bug catalogue.Bug `yaml:"-"`
	// SameAs is the id of a bug with the same root cause. The issue of that bug covers
	// this one, so all other fields are empty.
	SameAs string `yaml:"sameAs,omitempty"`
	// CommentOn is the thread that has this bug already, "containerd#11037": the text is a
	// comment there. A bug with the id containerd-NUMBER is a comment on that thread.
	CommentOn string `yaml:"commentOn,omitempty"`
	// Description says in a paragraph what happens, and on which node.
	Description string `yaml:"description"`
	// Steps are Markdown: what a user does with ctr, crictl or some lines of Go. Text prints
	// the commands that they need first. It names the binaries of "Start containerd with
	// the change below".
	Steps string `yaml:"steps"`
	// Expected and Actual are the results.
	Expected string `yaml:"expected"`
	Actual   string `yaml:"actual"`
	// Cause is the root cause, in some three sentences. Code has its lines.
	Cause string `yaml:"cause"`
	Code  []Code `yaml:"code"`
	// Direction is how it could be fixed.
	Direction string `yaml:"direction"`
	// Stuck names a process and a function: "shim FUNCTION". A goroutine of the
	// recorded run must stand in it. "panic FUNCTION" is a goroutine that panicked.
	Stuck string `yaml:"stuck,omitempty"`
	// LogUntil is a part of the last line of the log that belongs to the bug. The lines
	// after it are of the end of the test.
	LogUntil string `yaml:"logUntil,omitempty"`
	// Run is the case that was recorded, with the patch if there is one. Default: the
	// bug's first case. Patch is a change of containerd's source, as git prints it.
	Run   harness.Case `yaml:"-"`
	Patch string       `yaml:"-"`

	digest string
}

// Code is a claim about a line of the release's source.
type Code struct {
	// In is the file and the function with its type: "core/runtime/v2/shim.go
	// shimTask.delete".
	In string `yaml:"in"`
	// Line is a part of one line of that function. With After it is the first such line
	// below the first line that has After.
	Line  string `yaml:"line"`
	After string `yaml:"after,omitempty"`
	// Says tells what the line does here.
	Says string `yaml:"says"`
}

// Recorded has the facts of an issue, of a run and of the source of a release.
type Recorded struct {
	Bug     string `json:"bug"`
	Release string `json:"release"`
	// Digest is Filing.Digest of the time of the record: another one needs another record.
	Digest string `json:"digest"`
	// Lines are the numbers of the lines of Code, in its order, and Texts the lines.
	Lines []int    `json:"lines"`
	Texts []string `json:"texts"`
	// Errors are the failed calls of the client, Log lines that containerd does not log
	// without the fault, Left the findings.
	Errors []string `json:"errors,omitempty"`
	Log    []string `json:"log,omitempty"`
	Left   []string `json:"left"`
	// Stack is the goroutine of Stuck.
	Stack string `json:"stack,omitempty"`
	// Config is containerd's configuration, if CRI was used, and Machine the kernel, the
	// version of cgroups, and runc's.
	Config  string   `json:"config,omitempty"`
	Machine []string `json:"machine"`
}

// All are the filings, by the ids of their bugs.
func All() (map[string]Filing, error) {
	names, err := fs.Glob(files, "issues/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]Filing{}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		id := strings.TrimSuffix(path.Base(name), ".yaml")
		patch, err := files.ReadFile("issues/" + id + ".patch")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		f, err := parse(id, text, string(patch))
		if err != nil {
			return nil, fmt.Errorf("catalogue/filing/%s: %w", name, err)
		}
		all[id] = f
	}
	return all, nil
}

// IssueOf returns the id of the bug whose issue covers a bug, which is its own or that of
// SameAs. It is empty if no issue does.
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
		err = fmt.Errorf("%s has no case: say which to run", id)
	}
	if err == nil {
		f.digest, err = f.digestOf()
	}
	return f.Filing, err
}

// Thread is the thread to which the text is a comment; ok is false for an issue of its
// own.
func (f Filing) Thread() (t catalogue.Thread, ok bool) {
	name := f.CommentOn
	if number, is := strings.CutPrefix(f.Bug.ID, "containerd-"); is && name == "" {
		name = "containerd#" + number
	}
	return catalogue.Thread{Word: "issue", Name: name}, name != ""
}

// digestOf is the digest of what a record is made from: the case, the patch and the
// claims about lines. Another text needs no other record.
func (f Filing) digestOf() (string, error) {
	run := f.Run
	run.Name, run.About, run.Issues, run.Bad = "", "", nil, nil
	code := make([]Code, len(f.Code))
	for i, c := range f.Code {
		code[i] = Code{In: c.In, Line: c.Line, After: c.After}
	}
	text, err := json.Marshal([]any{run.String(), f.Patch, code, f.Stuck, f.LogUntil})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), err
}

// Digest is that of what a record depends on.
func (f Filing) Digest() string { return f.digest }

// Release is the newest release that is known to have the bug.
func (f Filing) Release() string {
	branches := f.Bug.Releases.Branches()
	if len(branches) == 0 {
		return ""
	}
	return f.Bug.Releases.LastBad(branches[len(branches)-1])
}

// Read reads records: a JSON object a line.
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

// Of is the filing of a bug with its record. Its error says why a bug cannot be filed.
func Of(b catalogue.Bug) (Filing, Recorded, error) {
	if b.Kind == catalogue.Residue || b.Kind == catalogue.Lead {
		return Filing{}, Recorded{}, fmt.Errorf("%s is a %s, which is not filed: %s", b.ID, b.Kind, kindMeans[b.Kind])
	}
	all, err := All()
	if err != nil {
		return Filing{}, Recorded{}, err
	}
	f, ok := all[b.ID]
	if !ok {
		return f, Recorded{}, fmt.Errorf("%s has no issue yet: add catalogue/filing/issues/%s.yaml, then "+
			"make filings", b.ID, b.ID)
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
	if !ok || r.Digest != f.digest {
		return f, r, fmt.Errorf("the issue of %s was changed since its run was recorded: make filings", b.ID)
	}
	return f, r, nil
}

var kindMeans = map[catalogue.Kind]string{
	catalogue.Residue: "releases are known to leave it, and it is harmless",
	catalogue.Lead:    "the failing function in containerd is not known",
}
