package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shimquake/shimquake/must"
)

func TestBugsCommands(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		status int
		want   []string // in what it says
	}{
		"all bugs": {[]string{"list", "bugs"}, 0,
			[]string{"critical (", "cri-forgets-an-exit", "containerd-7496"}},
		"bugs of a release":     {[]string{"list", "bugs", "--containerd", "v2.4.2"}, 0, []string{"shim-not-loaded"}},
		"bugs of no release":    {[]string{"list", "bugs", "--containerd", "banana"}, 2, []string{"such as v2.4.2"}},
		"cases":                 {[]string{"list", "cases"}, 0, []string{"umount-delayed", "containerd-7496"}},
		"findings are bugs now": {[]string{"list", "findings"}, 2, []string{"findings"}},
		"show, by its number": {[]string{"show", "8981"}, 0,
			[]string{"containerd-8981: ", "not fixed|v2.4.0", "shimquake run"}},
		"show, by a case":          {[]string{"show", "umount-delayed"}, 0, []string{"containerd-7496: "}},
		"show what there is not":   {[]string{"show", "containerd-8982"}, 2, []string{"containerd-8981"}},
		"show nothing":             {[]string{"show"}, 2, []string{"usage"}},
		"matrix of no bug":         {[]string{"matrix", "containerd-8982"}, 2, []string{"containerd-8981"}},
		"matrix without a case":    {[]string{"matrix", "containerd-9309"}, 2, []string{"no case", "shimquake show"}},
		"matrix of no release":     {[]string{"matrix", "8981", "--releases", ""}, 2, []string{"--releases"}},
		"matrix in two forms":      {[]string{"matrix", "8981", "--json", "--markdown"}, 2, []string{"not both"}},
		"matrix without parallels": {[]string{"matrix", "8981", "--parallel", "0"}, 2, []string{"--parallel"}},
	} {
		got := shimquake(t, nil, test.args...)
		must.Equal(t, got.status, test.status, name, "status of", got.out, got.err)
		for _, want := range test.want {
			if !containsOne(got.out+got.err, strings.Split(want, "|")) {
				t.Errorf("%s: %q is not in\n%s%s", name, want, got.out, got.err)
			}
		}
		for line := range strings.Lines(got.out) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 100 {
				t.Errorf("%s: more than 100 columns: %s", name, line)
			}
		}
	}
	// A bug that was seen on the newest release of a branch only may be in the others.
	for release, want := range map[string]bool{"v1.7.1": true, "v1.7.35": false} {
		got := shimquake(t, nil, "list", "bugs", "--containerd", release)
		has, may, _ := strings.Cut(got.out, release+" may also have these")
		if id := "  exit-of-a-failed-transition "; strings.Contains(may, id) != want || strings.Contains(has, id) == want {
			t.Errorf("%s: %s is among those that it may have: want %v\n%s", release, id, want, got.out)
		}
	}
	if got := shimquake(t, nil, "list", "bugs", "--containerd", "v2.4.2"); strings.Contains(
		got.out,
		"containerd-7496",
	) {
		t.Errorf("v2.4.2 has no containerd-7496:\n%s", got.out)
	}
}

func containsOne(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
