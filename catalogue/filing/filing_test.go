package filing_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/filing"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/repro/read"
)

// Each filing has its record, and the release's source has each line that it quotes.
func TestFilings(t *testing.T) {
	all := must.Get(filing.All())(t)
	for id, f := range all {
		t.Run(id, func(t *testing.T) {
			if f.SameAs != "" {
				other, known := all[f.SameAs]
				if !known || other.SameAs != "" || f.Description+f.Patch != "" || filing.IssueOf(id) != f.SameAs {
					t.Errorf("sameAs: %s needs an issue of its own, and %s none", f.SameAs, id)
				}
				return
			}
			must.Equal(t, f.Bug.Releases.StateOf(containerd.DefaultRelease), affected.Bad, "does not have it")
			must.Equal(t, f.Release(), containerd.DefaultRelease, "does not have it")
			_, r, err := filing.Of(f.Bug)
			must.Succeed(t, err)
			dir := must.Get(containerd.SourceDir(t.Context(), r.Release))(t)
			lines, texts, err := filing.Lines(os.DirFS(dir), f.Code)
			if err != nil || !slices.Equal(lines, r.Lines) || !slices.Equal(texts, r.Texts) {
				t.Errorf("lines %v, %v; recorded: %v", lines, err, r.Lines)
			}
			for _, line := range r.Log {
				for _, m := range read.Logged(line) {
					if len(m.Chain) == 0 {
						t.Errorf("no statement of containerd makes %s", line)
					}
				}
			}
			if len(f.Code) == 0 || len(r.Left) == 0 || (f.Stuck == "") != (r.Stack == "") {
				t.Errorf("%d lines of code, %d findings, a stack of %q", len(f.Code), len(r.Left), f.Stuck)
			}
			for _, text := range append(slices.Concat(r.Log, r.Errors, r.Left), r.Stack, r.Config) {
				if strings.Contains(text, "shimquake") || strings.Contains(text, "/worlds/") {
					t.Errorf("a name or a path of this harness: %s", text)
				}
			}
		})
	}
}

// The text has the sections of containerd's .github/ISSUE_TEMPLATE/bug_report.yaml.
func TestTextHasTheTemplatesSections(t *testing.T) {
	all := must.Get(filing.All())(t)
	for id, f := range all {
		if f.SameAs != "" {
			continue
		}
		_, r, err := filing.Of(f.Bug)
		must.Succeed(t, err)
		text, at := must.Get(filing.Text(f, r))(t), 0
		for _, want := range []string{
			"### Description\n", "**Root cause.** ", "**Direction for a fix.** ", "**Existing threads**",
			"### Steps to reproduce the issue\n", "### Describe the results you received and expected\n",
			"**Expected**: ", "**Received**: ", "**Recorded run.** ", "### What version of containerd are you using?\n",
			"### Any other relevant information\n",
		} {
			i := strings.Index(text[at:], want)
			if i < 0 {
				t.Errorf("%s: no %q, or not in its place, in\n%s", id, want, text)
				break
			}
			at += i
		}
		if strings.Contains(text, "**: \n") || strings.Contains(text, ".** \n") || strings.Contains(text, "<no value>") {
			t.Errorf("%s: a part is empty:\n%s", id, text)
		}
		thread, comment := f.Thread()
		if comment && (strings.HasPrefix(text, "# ") || !strings.Contains(text, thread.URL())) {
			t.Errorf("%s: a comment on %s has a title, or does not name it", id, thread.Name)
		}
		_, body, _ := strings.Cut(text, "\n") // the title is the catalogue's
		for _, wrong := range []string{
			"kill -9 $(pidof containerd)", // systemd starts it again after 5 s
			"peer credentials",            // they are of the start helper, which called listen(2)
			"for good", "payload exited", "(its own record", "shimquake",
		} {
			if strings.Contains(body, wrong) {
				t.Errorf("%s: %q", id, wrong)
			}
		}
		must.Equal(t, strings.Count(text, "```")%2, 0, id, "a block has no end")
	}
}

func TestWhichBugsAreNotFiled(t *testing.T) {
	for _, b := range catalogue.Bugs() {
		if _, _, err := filing.Of(b); err == nil && b.Kind != catalogue.Defect && b.Kind != catalogue.Race {
			t.Errorf("%s is a %s, and can be filed", b.ID, b.Kind)
		}
		if b.Applies(containerd.DefaultRelease) && filing.WhyNone(b) == "" && filing.IssueOf(b.ID) == "" {
			t.Errorf("%s has %s, and neither an issue nor a reason for none", containerd.DefaultRelease, b.ID)
		}
	}
	for id, want := range map[string]string{
		"containerd-7496": "no issue yet", "containerd-8557": "no issue, because no case",
		"exit-repeated": "because it is a residue", "oom-watch-cancelled": "because it is unconfirmed",
		"shim-kept-at-load": "covers it: shimquake show shim-not-cleaned-at-load --issue",
	} {
		b, err := catalogue.FindBug(id)
		if err != nil {
			continue
		}
		if _, _, err := filing.Of(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}

func TestLines(t *testing.T) {
	const source = "package p\n\nfunc (s *T) A() {\n\tx := 1\n\t_ = x\n}\n\nfunc B() {\n\tx := 1\n\tx = 1\n}\n"
	files := fstest.MapFS{"a/b.go": {Data: []byte(source)}}
	for name, tt := range map[string]struct {
		claim filing.Code
		line  int
		err   string
	}{
		"a method's":          {filing.Code{In: "a/b.go T.A", Line: "x := 1"}, 4, ""},
		"a function's":        {filing.Code{In: "a/b.go B", Line: "x = 1"}, 10, ""},
		"below another":       {filing.Code{In: "a/b.go B", Line: "1", After: "x :="}, 10, ""},
		"below none":          {filing.Code{In: "a/b.go B", Line: "1", After: "y"}, 0, "is on 0 lines"},
		"on two lines":        {filing.Code{In: "a/b.go B", Line: "1"}, 0, "is on 2 lines"},
		"in another function": {filing.Code{In: "a/b.go B", Line: "_ = x"}, 0, "is on 0 lines"},
		"no such function":    {filing.Code{In: "a/b.go T.B", Line: "x"}, 0, "has no function T.B"},
		"no such file":        {filing.Code{In: "b.go B", Line: "x"}, 0, "does not exist"},
	} {
		lines, _, err := filing.Lines(files, []filing.Code{tt.claim})
		switch {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		case tt.err == "" && (err != nil || !slices.Equal(lines, []int{tt.line})):
			t.Errorf("%s: %v, %v, want %d", name, lines, err, tt.line)
		}
	}
}
