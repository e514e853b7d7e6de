package main

import (
	"bytes"
	"fmt"
	"slices"

	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/shimquake/shimquake/must"
)

func TestReadEvents(t *testing.T) {
	all := must.Get(txtar.ParseFile("testdata/events.txtar"))(t)
	for pair := range slices.Chunk(all.Files, 2) {
		var got strings.Builder
		for _, r := range must.Get(readEvents(bytes.NewReader(pair[0].Data)))(t) {
			line := fmt.Sprintf("%s | %s | %s | %v | %s", r.suite, r.name, r.verdict, r.seconds, r.reason)
			fmt.Fprintln(&got, strings.TrimSuffix(line, " | "))
		}
		must.Equal(t, got.String(), string(pair[1].Data), pair[0].Name)
	}
}

func it(text string, state types.SpecState, message string) types.SpecReport {
	return types.SpecReport{
		LeafNodeType: types.NodeTypeIt,
		LeafNodeText: text,
		State:        state,
		Failure:      types.Failure{Message: message},
	}
}

func TestReadReports(t *testing.T) {
	report := types.Report{SuitePath: "/x/suites/delete", SuiteSucceeded: true, SpecReports: types.SpecReports{
		{LeafNodeType: types.NodeTypeBeforeSuite, State: types.SpecStatePassed},
		it("is gone", types.SpecStatePassed, ""),
		it("needs cgroup v2", types.SpecStateSkipped, "this machine has cgroup v1\nmore"),
		it("is for later", types.SpecStatePending, ""),
		it("is not quick", types.SpecStateSkipped, ""),
	}}
	broken := types.Report{
		SuitePath:                  "/x/suites/load",
		SpecialSuiteFailureReasons: []string{"Failed to compile load:\nlong text"},
	}
	noStart := types.Report{SuitePath: "/x/suites/cri", SpecReports: types.SpecReports{
		{LeafNodeType: types.NodeTypeBeforeSuite, State: types.SpecStatePanicked, Failure: types.Failure{
			Message: "no containerd", Location: types.CodeLocation{FileName: "/x/suites/cri/cri_test.go", LineNumber: 7},
		}},
	}}
	text := must.Get(json.Marshal([]types.Report{report, broken, noStart}))(t)
	got := must.Get(readReports(strings.NewReader(string(text))))(t)
	want := []row{
		{suite: "delete", name: "is gone", verdict: passed},
		{suite: "delete", name: "needs cgroup v2", verdict: skipped, reason: "this machine has cgroup v1 more"},
		{suite: "delete", name: "is for later", verdict: skipped, reason: "pending"},
		{suite: "load", name: "the suite runs to its end", verdict: failed, reason: "Failed to compile load: long text"},
		{suite: "cri", name: "BeforeSuite", verdict: failed, reason: "panicked: no containerd (cri_test.go:7)"},
	}
	if diff := cmp.Diff(want, got.rows, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	must.Equal(t, len(got.unselected), 0, "suites without a selected spec", got.unselected)
	must.Equal(t, got.notSelected, 1, "specs not selected")
}

// A suite is the folder of a spec, whatever program has run it. If files were chosen,
// other suites need not run.
func TestReadFolders(t *testing.T) {
	in := func(folder string, s types.SpecReport) types.SpecReport {
		s.LeafNodeLocation = types.CodeLocation{FileName: "/x/suites/" + folder + "/a.go", LineNumber: 3}
		return s
	}
	passes, isOut := it("passes", types.SpecStatePassed, ""), it("is not quick", types.SpecStateSkipped, "")
	for _, test := range []struct {
		files      []string
		unselected string
	}{{nil, "umount"}, {[]string{"suites/umount/"}, "umount"}, {[]string{"suites/shutdown/"}, ""}} {
		all := types.Report{SuitePath: "/x/suites", SuiteSucceeded: true, SpecReports: types.SpecReports{
			in("shutdown", passes), in("umount", isOut), in("shutdown", isOut)}}
		all.SuiteConfig.FocusFiles = test.files
		text := must.Get(json.Marshal([]types.Report{all}))(t)
		got := must.Get(readReports(strings.NewReader(string(text))))(t)
		var names []string
		for _, s := range got.unselected {
			names = append(names, s.name)
		}
		if len(got.rows) != 1 || got.rows[0].suite != "shutdown" || strings.Join(names, " ") != test.unselected {
			t.Errorf("files %q: %+v, nothing ran of %q, want %q", test.files, got.rows, names, test.unselected)
		}
	}
}

// TestReadSeveralReports reads concatenated files, and finds that one of them is
// incomplete.
func TestReadSeveralReports(t *testing.T) {
	one := must.Get(json.Marshal(
		[]types.Report{{SuitePath: "/x/suites/delete", SuiteSucceeded: true, SpecReports: types.SpecReports{
			it("is gone", types.SpecStatePassed, ""),
		}}},
	))(t)
	got := must.Get(readReports(strings.NewReader(string(one) + "\n" + string(one))))(t)
	must.Len(t, got.rows, 2, "rows of two reports")
	for _, text := range []string{"", string(one) + string(one[:20])} {
		must.Fail(t, must.ErrorOf(readReports(strings.NewReader(text))), text)
	}
}

// TestRun checks the exit status and the last line. An empty run, and a run that stops
// early, must not look like a success.
func TestRun(t *testing.T) {
	good := `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}`
	tests := map[string]struct {
		unit, specs string // file contents; empty: not asked for; "none": the file is missing
		unitExit    int
		specsExit   int
		want        string // of the last line
		err         error
	}{
		"good":                          {unit: good, want: "1 passed, 0 failed, 0 skipped"},
		"go test failed without a name": {unit: good, unitExit: 1, want: "1 passed, 1 failed, 0 skipped", err: errFailed},
		"no test ran": {
			unit: `{"Action":"skip","Package":"p"}`,
			want: "0 passed, 1 failed, 0 skipped",
			err:  errFailed,
		},
		"no suite": {
			specs:     "none",
			specsExit: 1,
			want:      "0 passed, 1 failed, 0 skipped",
			err:       errFailed,
		},
		"no spec":             {specs: "[]", want: "0 passed, 1 failed, 0 skipped", err: errFailed},
		"a report is missing": {specs: "none", err: os.ErrNotExist},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			write := func(file, text string) string {
				path := filepath.Join(t.TempDir(), file)
				if text == "" {
					return ""
				}
				if text != "none" {
					must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
				}
				return path
			}
			p := params{
				unit:      write("unit", test.unit),
				unitExit:  test.unitExit,
				specs:     write("specs", test.specs),
				specsExit: test.specsExit,
			}
			for _, form := range []string{"failures", "table", "markdown"} {
				p.table, p.markdown = form == "table", form == "markdown"
				var out strings.Builder
				must.Is(t, run(p, nil, &out), test.err, form)
				lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
				must.Equal(t, lines[len(lines)-1], test.want, form, "last line")
			}
		})
	}
}

func TestStreamShowsOnlyFailures(t *testing.T) {
	in := `{"Action":"output","Package":"p","Test":"TestA","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"b_test.go:1: bad\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
`
	kept := filepath.Join(t.TempDir(), "events.json")
	var out strings.Builder
	must.Succeed(t, run(params{stream: kept}, strings.NewReader(in), &out))
	must.Equal(t, out.String(), "b_test.go:1: bad\nFAIL\tp\t0.1s\n", "shows")
	must.Equal(t, must.Read(t, kept), in, "the events are kept as they came")
}

// wide has all that a table may contain: a long name, a long reason, a word that does not
// fit a line, and several verdicts.
var wide = []row{
	{
		suite:    "shutdown",
		name:     strings.Repeat("a pod whose shim's last Shutdown met a closed connection ", 4),
		verdict:  passed,
		outcomes: []string{"held", "violated"},
		known:    []string{"containerd#8981", "no issue known"},
		seconds:  1234.567,
	},
	{suite: "shutdown", name: "is not quick", verdict: skipped, reason: strings.Repeat("this machine lacks it ", 20)},
	{suite: "umount", name: "fails", verdict: failed, reason: strings.Repeat("it found what nobody wants ", 11)},
}

func TestTextFitsATerminal(t *testing.T) {
	var out strings.Builder
	printTable(&out, wide)
	printFailures(&out, wide)
	printSkips(&out, wide, false)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{
		"shutdown: 1 passed, 0 failed, 1 skipped\n", "\numount: 0 passed, 1 failed, 0 skipped\n",
		"passed   held, violated  1234.57  a pod", "known: containerd#8981, no issue known", "skipped   1  this machine",
	} {
		must.Contain(t, out.String(), want)
	}
}

// A row that a strict run adds to a suite is printed with the suite.
func TestASuiteStandsOnceInTheTable(t *testing.T) {
	rows := []row{{suite: "a", name: "1", verdict: passed}, {suite: "b", name: "2", verdict: passed},
		{suite: "a", name: "last", verdict: failed}}
	var out strings.Builder
	printTable(&out, rows)
	text := out.String()
	if strings.Count(text, "\na: 1 passed, 1 failed") != 1 || strings.Index(text, "last") > strings.Index(text, "\nb:") {
		t.Errorf("the suite a does not stand together:\n%s", text)
	}
}

func TestSkipsAreOneLineAReason(t *testing.T) {
	const lack = "this machine cannot run pods: no cpu"
	rows := []row{
		{suite: "x/weave", name: "a", verdict: skipped, reason: "a_test.go:9: needs root"},
		{suite: "shutdown", name: "b", verdict: skipped, reason: lack},
		{suite: "umount", name: "c", verdict: skipped, reason: lack},
		{suite: "umount", name: "d", verdict: passed, reason: ""},
	}
	var out strings.Builder
	printSkips(&out, rows, false)
	want := "skipped   2  " + lack + " (shutdown, umount)\nskipped   1  needs root (weave)\n"
	must.Equal(t, out.String(), want)
}

// Each green run that has tested little fails with -strict.
func TestStrict(t *testing.T) {
	const older = "v1.6.36 is older than 2.3.0" // in skips.yaml
	suite := func(name string, specs ...types.SpecReport) types.Report {
		return types.Report{SuitePath: "/x/suites/" + name, SuiteSucceeded: true, SpecReports: specs}
	}
	passes := it("passes", types.SpecStatePassed, "")
	focused := suite("cri", it("is not in focus", types.SpecStateSkipped, ""))
	focused.SuiteConfig.FocusStrings = []string{"second Delete"}
	skips := func(reason string) types.SpecReport { return it("x", types.SpecStateSkipped, reason) }
	tests := map[string]struct {
		reports []types.Report
		red     string // the beginning of the reported failure; "": none
	}{
		"all ran":         {[]types.Report{suite("a", passes)}, ""},
		"an allowed skip": {[]types.Report{suite("a", passes, skips(older))}, ""},
		"the machine lacks it": {
			[]types.Report{suite("a", passes, skips("this machine cannot run pods"))}, "failed: strict: 1 skipped, of a,"},
		"a pending spec": {
			[]types.Report{suite("a", passes, it("x", types.SpecStatePending, ""))}, "failed: strict: 1 skipped, of a,"},
		"a whole suite, although each skip is allowed": {
			[]types.Report{suite("a", passes), suite("b", skips(older))}, "failed: b: one of its specs runs"},
		"a suite in which nothing is selected": {
			[]types.Report{suite("a", passes), suite("b", skips(""))}, "failed: b: one of its specs runs"},
		"a suite in two parts, one of which selects nothing": {
			[]types.Report{suite("a", passes), suite("a", skips(""))}, ""},
		"a suite that is not in focus": {[]types.Report{suite("a", passes), focused}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(test.reports)
			must.Succeed(t, err)
			path := filepath.Join(t.TempDir(), "specs.json")
			must.Succeed(t, os.WriteFile(path, text, 0o600))
			var out strings.Builder
			must.Equal(t, run(params{specs: path}, nil, &out), nil, "not strict", out.String())
			out.Reset()
			err = run(params{specs: path, strict: true}, nil, &out)
			isRed := errors.Is(err, errFailed)
			must.Equal(t, isRed, test.red != "", "strict")
			must.Contain(t, out.String(), test.red, "strict")
		})
	}
}

func TestSkipsNeedAReason(t *testing.T) {
	for _, text := range []string{"- match: x", "- why: x", "- {match: '(', why: x}", "x"} {
		must.Fail(t, must.ErrorOf(parseSkips([]byte(text))), text)
	}
	if len(allowed) > 6 {
		t.Errorf("%d reasons are allowed: the list is to be short", len(allowed))
	}
}
