package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// After a reboot no reporter can know an exit that only the shim knew. Every other exit
// must be reported.
func TestReboots(t *testing.T) {
	saysCRI := func(status uint32) func(*harness.History) {
		return func(h *harness.History) {
			o := exit.Observation{Container: "c0", Observer: exit.ByCRIStatus, Status: status, At: at(30), PID: 41}
			h.Reported = append(h.Reported, o)
			h.Flushed.Reported++
		}
	}
	ends := also(killedByNobody, func(h *harness.History) { kill(h, "task", 41) }, reportedToNobody)
	reboot := func(ms int) func(*harness.History) {
		return func(h *harness.History) { h.Reboots = []time.Time{at(ms)} }
	}
	const (
		late    = 30 + 6000
		nobody  = "exit exit-code by=nobody status=unreported"
		unknown = "exit exit-code by=cri-status status=made-up-255"
		success = "exit exit-code by=cri-status status=made-up-0"
	)
	for name, tc := range map[string]struct {
		change func(*harness.History)
		want   string
	}{
		"nobody tells":                        {reboot(31), ""},
		"nobody tells, without a reboot":      {func(*harness.History) {}, nobody},
		"nobody tells, and it was much later": {reboot(late), nobody},
		"nobody tells, and it was before":     {reboot(2), nobody},
		"CRI says unknown":                    {also(reboot(31), saysCRI(255)), ""},
		"CRI says unknown, without a reboot":  {saysCRI(255), unknown},
		"CRI says unknown, much later":        {also(reboot(late), saysCRI(255)), unknown},
		"CRI makes up success":                {also(reboot(31), saysCRI(0)), success},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			also(ends, tc.change)(&h)
			h.After.At = at(20_000)
			v := Judge(h, catalogued)
			isExit := func(f finding.Finding) bool { return f.Class == finding.ClassExitCode }
			if tc.want == "" && slices.ContainsFunc(v.Findings, isExit) {
				t.Errorf("a finding\n%s", v)
			}
			if tc.want != "" && says(v, tc.want) != "" {
				t.Errorf("%s; want %q\n%s", says(v, tc.want), tc.want, v)
			}
		})
	}
}

// The socket of a shim that was killed is gone with all of /run.
func TestSocketsAreGoneAfterAReboot(t *testing.T) {
	h := clean()
	kill(&h, "shim", 30)
	for _, tc := range []struct {
		at   []time.Time
		want bool
	}{{nil, true}, {[]time.Time{at(20)}, true}, {[]time.Time{at(26)}, false}} {
		h.Reboots = tc.at
		if got := slices.Contains(Conditions(h).Happened, residue.ShimKilled); got != tc.want {
			t.Errorf("%v: %v", tc.at, got)
		}
	}
}
