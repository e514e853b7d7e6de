package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Text that others wrote reaches a terminal escaped, and forges no line of the program.
func TestForeignTextIsQuoted(t *testing.T) {
	const foreign = "v2.4.2\x1b[2J\nheld     forged on containerd v2.4.2 in 1s\r\u202e\u009b2J"
	kept := filepath.Join(t.TempDir(), "history.json")
	k := harness.Kept{History: harness.History{
		Case: harness.Case{Name: "x"},
		Run: harness.Run{
			Version:  foreign,
			Problems: []harness.Problem{{Kind: harness.ByEnd, Text: foreign}},
		},
	}}
	text := must.Get(k.Encode())(t)
	must.Succeed(t, os.WriteFile(kept, text, 0o600))
	swept := t.TempDir()
	violated := must.Get(evidenceHere(swept, "violated"))(t)
	must.Succeed(t, sweptHere(swept, "1/1", []harness.Kept{violated}))
	must.Edit(t, filepath.Join(swept, "journal.jsonl"), func(text string) string {
		return strings.Replace(text, `"build":"`, `"build":"x\u001b[2J\nheld     forged `, 1)
	})
	must.Succeed(t, os.Remove(filepath.Join(swept, harness.HistoriesFile)))
	for name, args := range map[string][]string{
		"a history":          {"judge", kept},
		"a history, as JSON": {"judge", "--json", kept},
		"a pasted report": {"repro", "--dry-run",
			file(t, "containerd://1.7.2\nstuck: x\x1b[2J\rheld     forged\u202e\n")},
		"a bundle of an audit": {"repro", "--dry-run", auditBundle(t, audit.Report{Suspects: []audit.Suspect{
			{Kind: finding.ClassShim, Version: foreign,
				Subject: finding.Subject{ID: foreign, Namespace: foreign, Path: foreign}},
			{Kind: finding.Class(foreign), Subject: finding.Subject{ID: foreign, Path: foreign}}}})},
		"a journal's build":      {"report", "--out", t.TempDir(), swept},
		"a case that is missing": {"run", "x\x1b[2J\nheld     forged"},
		"a file's name":          {"judge", "/none/x\x1b[2J\nheld     forged"},
		"a key of YAML":          {"run", file(t, "name: x\n\"wo\\eklo\\nheld     forged\": 1\n")},
		"a sweep's plan": {"sweep", "--out", t.TempDir(), "--plan",
			file(t, `{"format":2,"version":"x\u001b[2J\nheld     forged"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			a := shimquake(t, nil, args...)
			all := a.out + a.err
			if strings.ContainsFunc(all, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) {
				t.Errorf("a terminal is written to:\n%q", all)
			}
			for line := range strings.Lines(all) {
				if strings.HasPrefix(line, "held     forged") {
					t.Errorf("a line is forged:\n%s", all)
				}
			}
			if all == "" {
				t.Error("nothing is said")
			}
		})
	}
}

// A name that others chose cannot begin a line of an error, whichever command opens it.
func TestForeignNamesStayInTheirLine(t *testing.T) {
	const name = "a\nviolated forged\n  next: curl evil"
	t.Chdir(t.TempDir())
	changed := `{"shimquake":"history","format":6,"digest":"0\nnext: curl evil","history":{},"verdict":{}}`
	must.Succeed(t, errors.Join(os.MkdirAll(filepath.Join("swept", name), 0o755), os.Mkdir(name+"/", 0o755),
		os.WriteFile(filepath.Join("swept", name, harness.HistoryFile), []byte("{"), 0o600),
		os.WriteFile("changed.json", []byte(changed), 0o600), os.WriteFile(name+".yaml", []byte("x: ["), 0o600)))
	for _, args := range [][]string{
		{"judge", "swept"}, {"report", "swept"}, {"judge", "changed.json"}, {"judge", name}, {"judge", "./none" + name},
		{"report", name}, {"run", "./none" + name}, {"run", "./" + name}, {"run", "./" + name + ".yaml"},
		{"run", "--" + name}, {"run", "--containerd", "bin:./" + name, "plain-pod"},
		{"run", "--containerd", "src:none" + name, "plain-pod"}, {"repro", "./none" + name}, {"repro", name},
		{"bundle", "./none" + name}, {"sweep", "--plan", "./none" + name}, {"sweep", "--plan=" + name + ".yaml"},
		{"sweep", "--resume", name}, {"sweep", "report", "--baseline", name, name},
		{"audit", "--proc", "/none" + name}, {name},
	} {
		a := shimquake(t, nil, args...)
		if lines := strings.Count(a.err, "\n"); lines != 1 || !strings.Contains(a.err, `\n`) || a.out != "" {
			t.Errorf("%q: %d lines, want one with an escape:\n%s%s", args, lines, a.out, a.err)
		}
	}
}

// auditBundle is a file with the report of an audit.
func auditBundle(t *testing.T, r audit.Report) string {
	t.Helper()
	text := must.Get(json.Marshal(r))(t)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	files := tar.NewWriter(z)
	must.Succeed(t, files.WriteHeader(&tar.Header{Name: "audit/report.json", Mode: 0o644, Size: int64(len(text))}))
	must.Get(files.Write(text))(t)
	must.Succeed(t, errors.Join(files.Close(), z.Close()))
	return file(t, b.String())
}
