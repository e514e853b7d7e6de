package catalogue

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
)

func TestCompareWithKnown(t *testing.T) {
	of := func(id string, f finding.Finding) finding.Finding { f.Subject.ID = id; return f }
	found := func(inv finding.Invariant, text string) finding.Finding {
		m := finding.MustMatches(text)[0]
		return of("c0", finding.Finding{Invariant: inv, Class: m.Class, Facts: m.Facts})
	}
	leak := func(class finding.Class) finding.Finding {
		return of("c0", finding.Finding{Invariant: finding.Leak, Class: class})
	}
	shim, socket := found(finding.Leak, "shim task=none bundle=gone"), leak(finding.ClassSocket)
	said137 := found(finding.Exit, "exit-code by=TaskExit status=made-up-137")
	again := found(finding.Event, "event event=repeated topic=/tasks/exit repeat=other-status")
	deleted137 := found(finding.Exit, "exit-code by=TaskDelete status=made-up-137")
	said255 := found(finding.Exit, "exit-code by=cri-status status=made-up-255 containerd=down")
	excused := of("c0", finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent, Known: "taskdelete-lost"})
	inPod := func(f finding.Finding) finding.Finding { f.Subject.Pod = "p0"; return f }
	const left, exit = "containerd-8981", "containerd-14113" // both up to 2.3
	const restart = "cri-forgets-an-exit"                    // unknown before 1.7
	for _, test := range []struct {
		name    string
		bugs    string
		version string
		outcome harness.Outcome
		found   []finding.Finding
		says    string // of the error; "" for none
	}{
		{"holds where it must", left, "v2.4.2", harness.Held, nil, ""},
		{"violated where it must hold", left, "v2.4.2", harness.Violated, []finding.Finding{shim}, "violated"},
		{"invalid where it must hold", left, "v2.4.2", harness.Invalid, nil, "invalid"},
		{"no bug", "", "v2.3.7", harness.Violated, []finding.Finding{shim}, "violated"},
		{"a bug of another catalogue", "unheard-of", "v2.3.7", harness.Violated, []finding.Finding{shim}, "violated"},
		{"violated as known", left, "v2.3.7", harness.Violated, []finding.Finding{shim}, ""},
		{"as known before a release", left, "v2.3.8-rc.1", harness.Violated, []finding.Finding{shim}, ""},
		{"with consequences of the leaked shim", left, "v2.3.7", harness.Violated,
			[]finding.Finding{
				shim, socket, leak(finding.ClassBundle), leak(finding.ClassCgroup), leak(finding.ClassContainer),
			}, ""},
		{"and a leak of another container", left, "v2.3.7", harness.Violated, []finding.Finding{shim, of("c1", socket)},
			"unexpected [leak socket"},
		{"and a leak without an owner", left, "v2.3.7", harness.Violated, []finding.Finding{shim, of("", socket)},
			"unexpected [leak socket"},
		{"with a leak of a container in its pod", left, "v2.3.7", harness.Violated,
			[]finding.Finding{inPod(of("p0", shim)), inPod(socket)}, ""},
		{"and a wrong exit status", left, "v2.3.7", harness.Violated, []finding.Finding{shim, said137},
			"unexpected [exit exit-code"},
		{"held where it has the bug", left, "v2.3.7", harness.Held, nil, "check the releases"},
		{"invalid where it has the bug", left, "v2.3.7", harness.Invalid, nil, "invalid"},
		{"violated in another way", left, "v2.3.7", harness.Violated, []finding.Finding{said137},
			"missing [shim task=none bundle=gone]"},
		{"companions of no shim", exit, "v2.3.7", harness.Violated, []finding.Finding{said137, again, socket},
			"unexpected [leak socket"},
		{"one finding of two", exit, "v2.3.7", harness.Violated, []finding.Finding{said137},
			"missing [event event=repeated"},
		{"with the finding of the race", exit, "v2.3.7", harness.Violated,
			[]finding.Finding{said137, again, deleted137}, ""},
		{"only the finding of the race", exit, "v2.3.7", harness.Violated, []finding.Finding{deleted137},
			"missing [exit-code"},
		{"the first of two bugs", left + " " + exit, "v2.3.7", harness.Violated, []finding.Finding{shim}, ""},
		{"both bugs", left + " " + exit, "v2.3.7", harness.Violated, []finding.Finding{said137, again, shim}, ""},
		{"neither bug", left + " " + exit, "v2.3.7", harness.Violated, []finding.Finding{deleted137}, "missing ["},
		{"the bug that the release has", left + " " + restart, "v2.4.2", harness.Violated, []finding.Finding{said255}, ""},
		{"the bug that it has not", left + " " + restart, "v2.4.2", harness.Violated, []finding.Finding{shim}, "missing ["},
		{"a race that was not met", "exit-unheard-over-a-restart", "v2.4.2", harness.Held, nil, ""},
		{"perhaps a bug, and held", restart, "v1.6.36", harness.Held, nil, ""},
		{"perhaps a bug, and shown", restart, "v1.6.36", harness.Violated, []finding.Finding{said255}, ""},
		{"perhaps a bug, and another", restart, "v1.6.36", harness.Violated, []finding.Finding{shim}, "missing ["},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := harness.Verdict{
				Case:     harness.Case{Bugs: strings.Fields(test.bugs)},
				Name:     "x",
				Version:  test.version,
				Outcome:  test.outcome,
				Findings: append([]finding.Finding{excused}, test.found...),
			}
			err := CompareWithKnown(v)
			if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v; want an error that says %q", err, test.says)
			}
		})
	}
}

func TestOneOf(t *testing.T) {
	b := Bug{Left: finding.MustMatches("shim", "bundle"), OneOf: true}
	for class, want := range map[finding.Class]int{finding.ClassBundle: 0, finding.ClassMount: 2} {
		if lacks, _ := Differences([]Bug{b}, []finding.Finding{{Class: class}}); len(lacks) != want {
			t.Errorf("%s: lacks %v", class, lacks)
		}
	}
}

func TestPlainCasesNameBugs(t *testing.T) {
	for _, c := range plain.Cases() {
		for _, id := range c.Bugs {
			must.Equal(t, must.Get(FindBug(id))(t).ID, id, c.Name)
		}
	}
}

// A case of the user names bugs by their ids.
func TestParseCase(t *testing.T) {
	for id, says := range map[string]string{
		"containerd-8981": "", "containerd-8982": `x.yaml:2:8: bug "containerd-8982" is unknown`,
		"8981": "x.yaml:2:8: 8981 is the bug containerd-8981: write this id",
	} {
		_, err := parseCase("x.yaml", []byte("name: x\nbugs: ["+id+"]\nworkload: {}\n"))
		if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", id, err, says)
		}
	}
}
