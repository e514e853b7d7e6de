package sweep

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
)

// begun is a journal of a plan with a crash at each of n points, in a folder.
func begun(t testing.TB, n int, shard Shard) (string, *Journal, Head) {
	t.Helper()
	p := Plan{Version: "v2.4.2", Subject: "abc"}
	for i := range n {
		p.Specs = append(p.Specs, Spec{Point: start + strings.Repeat("x", i+1), Nth: 1, Action: "crash", Path: "create", Workload: "task"})
	}
	p.Digest = p.digest()
	dir, h := t.TempDir(), Head{Plan: p, Shard: shard}
	j, err := CreateJournal(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // closed twice in some tests
	return dir, j, h
}

func add(t *testing.T, j *Journal, is ...int) {
	t.Helper()
	for _, i := range is {
		if err := j.Add(Result{I: i, Outcome: harness.Held}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestJournalIsReadBack(t *testing.T) {
	dir, j, h := begun(t, 3, Shard{1, 1})
	add(t, j, 2)
	if err := j.Add(Result{I: 0, Outcome: harness.Violated, Found: shimLeft(4, "c0")}); err != nil {
		t.Fatal(err)
	}
	got, results, err := ReadJournal(dir)
	if err != nil || got.Plan.Digest != h.Plan.Digest || len(results) != 2 {
		t.Fatalf("%v, %d results, %v", got.Plan.Digest, len(results), err)
	}
	if r := results[1]; r.I != 0 || len(r.Found) != 3 || r.Found[0].Class != "shim" {
		t.Errorf("%+v", r)
	}
	if _, err := CreateJournal(dir, h); !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("a journal was begun over another: %v", err)
	}
	if err := Unused(dir); !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("%s is in use: %v", dir, err)
	}
	if err := Unused(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// A sweep that is killed while it writes leaves half a line. It is cut off, and what is written next stands on a line of its own.
func TestATornLineIsCutOff(t *testing.T) {
	dir, j, _ := begun(t, 3, Shard{1, 1})
	add(t, j, 0)
	if _, err := j.file.WriteString(`{"case":1,"verdict":"he`); err != nil {
		t.Fatal(err)
	}
	if _, results, err := ReadJournal(dir); err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, _, results, err := ResumeJournal(dir)
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	add(t, j, 1)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, results, err := ReadJournal(dir); err != nil || len(results) != 2 {
		t.Fatalf("after it went on: %d results, %v", len(results), err)
	}
}

func TestAJournalHasOneWriter(t *testing.T) {
	dir, _, _ := begun(t, 1, Shard{1, 1})
	if _, _, _, err := ResumeJournal(dir); err == nil || !strings.Contains(err.Error(), "another sweep") {
		t.Errorf("a second writer was let in: %v", err)
	}
}

func TestBadJournalsAreRefused(t *testing.T) {
	for says, spoil := range map[string]func(string) string{
		"is not of this shard":  func(s string) string { return s + `{"case":9,"verdict":"held","ms":1}` + "\n" },
		"or is there twice":     func(s string) string { return s + `{"case":0,"verdict":"held","ms":1}` + "\n" },
		"unknown field":         func(s string) string { return s + `{"kase":1}` + "\n" },
		"ends before its plan":  func(s string) string { return s[:20] },
		"was changed after":     func(s string) string { return strings.Replace(s, `"crash"`, `"panic"`, 1) },
		"no journal of a sweep": func(string) string { return "hello\n" },
		"journal.jsonl:3":       func(s string) string { return s + "{\n" },
	} {
		dir, j, _ := begun(t, 2, Shard{1, 1})
		add(t, j, 0)
		name := filepath.Join(dir, journalFile)
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, []byte(spoil(string(text))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadJournal(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if _, _, err := ReadJournal(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}

// rejudge makes a journal another shimquake's.
func rejudge(t *testing.T, dir string) {
	t.Helper()
	self, err := Judge()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, journalFile)
	text, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(text, []byte(self)) {
		t.Fatalf("%q is not in the journal: %v", self, err)
	}
	if err := os.WriteFile(name, bytes.Replace(text, []byte(self), []byte("shimquake of yesterday"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What an older shimquake called held, this one may not.
func TestAnotherShimquakesSweepIsNotGoneOnWith(t *testing.T) {
	dir, j, _ := begun(t, 2, Shard{1, 1})
	add(t, j, 0)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	rejudge(t, dir)
	if _, _, _, err := ResumeJournal(dir); !errors.Is(err, ErrOtherJudge) || !strings.Contains(err.Error(), "of yesterday") || !strings.Contains(err.Error(), "--out") {
		t.Errorf("resumed: %v", err)
	}
}

func TestMerge(t *testing.T) {
	shard := func(i, of int, done ...int) string {
		dir, j, _ := begun(t, 4, Shard{i, of})
		add(t, j, done...)
		return dir
	}
	one, two := shard(1, 2, 0, 2), shard(2, 2, 3, 1)
	h, results, err := Merge([]string{two, one})
	if err != nil {
		t.Fatal(err)
	}
	whole := shard(1, 1, 0, 1, 2, 3)
	hw, rw, err := ReadJournal(whole)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := NewReport(h, results, nil).String(), NewReport(hw, rw, nil).String(); got != want {
		t.Errorf("merged:\n%s\none machine:\n%s", got, want)
	}
	other, _, _ := begun(t, 5, Shard{2, 2})
	foreign := shard(2, 2, 1)
	rejudge(t, foreign)
	for says, dirs := range map[string][]string{
		"are missing: 2/2": {one},
		"are both shard":   {one, two, shard(1, 2)},
		"another plan":     {one, other},
		"do not fit":       {one, shard(3, 3)},
		"judged it, and":   {one, foreign},
		"no sweep":         {one, t.TempDir()},
	} {
		if _, _, err := Merge(dirs); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

func FuzzReadJournal(f *testing.F) {
	dir, j, _ := begun(f, 3, Shard{1, 1})
	if err := j.Add(Result{I: 1, Outcome: harness.Violated, Found: shimLeft(4, "c0")}); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-5])
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, results, whole, err := readJournal(bytes.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		if whole > int64(len(text)) || len(results) > len(h.Plan.Specs) {
			t.Fatalf("%d of %d bytes, %d results of %d cases", whole, len(text), len(results), len(h.Plan.Specs))
		}
		_ = NewReport(h, results, nil).String() // whatever was read can be told
	})
}
