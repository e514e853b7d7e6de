package oracle

import (
	"errors"
	"strings"
	"testing"
)

func TestLedgerNamesLies(t *testing.T) {
	for _, test := range []struct {
		name   string
		truth  uint32
		told   uint32
		sent   int
		lie    string // "" when it is the truth
		reason string
	}{
		{"the truth", 7, 7, 0, "", ""},
		{"a real SIGKILL", 137, 137, 9, "", ""},
		{"made-up 137", 7, 137, 0, MadeUp137,
			"delete said 137; the payload exited with 7 (its own record); 137 means SIGKILL, which nobody sent"},
		{"137 after the end", 7, 137, 9, MadeUp137, "which the harness sent, but it did not end the process"},
		{"255", 7, 255, 0, MadeUp255, "could not learn"},
		{"0", 7, 0, 0, MadeUp0, "0 means success"},
		{"0 for a SIGKILL", 137, 0, 0, MadeUp0, "137 means SIGKILL"},
		{"143", 0, 143, 0, MadeUpSig, "143 means SIGTERM, which nobody sent"},
		{"another", 7, 8, 0, Wrong, "8 is merely wrong"},
		{"128", 7, 128, 0, Wrong, "128 is merely wrong"},
		{"no exit status", 7, 4294967295, 0, Wrong, "no exit status at all"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var l Ledger
			if err := l.True(Truth{Container: "c1", Status: test.truth, Source: "its own record"}); err != nil {
				t.Fatal(err)
			}
			if test.sent != 0 {
				l.Sent("c1", "", test.sent, "the harness")
			}
			l.Observe(Observation{Container: "c1", Observer: ByWait, Status: test.truth})
			l.Observe(Observation{Container: "c1", Observer: ByDelete, Status: test.told})
			lies, err := l.Check()
			if err != nil {
				t.Fatal(err)
			}
			if test.lie == "" {
				if len(lies) != 0 {
					t.Errorf("the truth is called a lie: %v", lies)
				}
				return
			}
			if len(lies) != 1 {
				t.Fatalf("%d lies, want 1: %v", len(lies), lies)
			}
			f := lies[0]
			if f.Facts[FactStatus] != test.lie || !strings.Contains(f.Reason(), test.reason) || f.Class != ClassExitCode ||
				!f.Violates() {
				t.Errorf("got %s: %s; want %s: %s", f.Facts[FactStatus], f, test.lie, test.reason)
			}
		})
	}
}

func TestLedgerDoesNotJudgeWhatItDoesNotKnow(t *testing.T) {
	for _, test := range []struct {
		name string
		fill func(*Ledger)
		want error
	}{
		{"no truth", func(l *Ledger) { l.Observe(Observation{Container: "c1", Observer: ByWait}) }, ErrNoTruth},
		{"truth of the init, not of the exec", func(l *Ledger) {
			_ = l.True(Truth{Container: "c1"})
			l.Observe(Observation{Container: "c1", Exec: "e1", Observer: ByWait})
		}, ErrNoTruth},
	} {
		t.Run(test.name, func(t *testing.T) {
			var l Ledger
			test.fill(&l)
			if lies, err := l.Check(); !errors.Is(err, test.want) || len(lies) != 0 {
				t.Errorf("Check() = %v, %v; want no lies and %v", lies, err, test.want)
			}
		})
	}
}

func TestTwoTruths(t *testing.T) {
	var l Ledger
	for i, want := range []bool{true, true, false} {
		err := l.True(Truth{Container: "c1", Status: []uint32{7, 7, 8}[i]})
		if (err == nil) != want {
			t.Errorf("truth %d: %v", i, err)
		}
	}
	if got := l.Truths(); len(got) != 1 || got[0].Status != 7 {
		t.Errorf("Truths() = %v", got)
	}
}
