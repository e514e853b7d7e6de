package rank

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/repro/read"
)

func named(t *testing.T, id string) catalogue.Bug {
	t.Helper()
	b, err := catalogue.FindBug(id)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each observation of a report is a reason for or against a bug, with its lines.
func TestReasons(t *testing.T) {
	shim := "root 7 1 0 1:00 ? 0:00 /usr/bin/containerd-shim-runc-v2 -namespace %s -id x -address y\n# ctr -n " +
		"%[1]s t ls\nTASK PID STATUS\n"
	orphan := func(ns string) string { return fmt.Sprintf(shim, ns) }
	twice := `2025-08-21 15:00:31 +0000 UTC a /tasks/exit {"id":"x","pid":7,"exit_status":7}` + "\n" +
		`2025-08-21 15:00:32 +0000 UTC a /tasks/exit {"id":"x","pid":7,"exit_status":137}` + "\n"
	const (
		slow   = "kernel: INFO: task umount:40391 blocked for more than 120 seconds."
		killed = "containerd.service: Main process exited, code=killed, status=9/KILL"
		start  = `level=info msg="starting containerd"`
	)
	removal := func(code string) string {
		return `level=error msg="StopContainer for \"x\" failed" error="rpc error: code = ` + code +
			` desc = an error occurs during waiting for container \"x\" to be killed: wait container \"x\": context ` +
			`deadline exceeded"`
	}
	for name, c := range map[string]struct {
		text, bug, release string
		why                Why
		clears             bool
	}{
		"a symptom":                   {orphan("a"), "containerd-8981", "v2.3.7", Explains, true},
		"an occasional symptom":       {orphan("a") + twice, "shim-connection-broken", "v2.3.7", MayLeave, true},
		"an occasional symptom alone": {twice, "shim-connection-broken", "v2.3.7", Unexplained, false},
		"another release":             {orphan("a"), "containerd-8981", "v2.4.2", OtherOne, false},
		"an untested release":         {orphan("a"), "containerd-8981", "v1.5.18", NotLooked, true},
		"its issue": {
			orphan("a") + "as in containerd#8981", "containerd-8981", "v2.3.7", Named, true},
		"its trigger":                       {orphan("k8s.io") + slow, "containerd-7496", "v1.7.2", Needs, true},
		"a condition that it does not need": {orphan("a") + killed, "containerd-8981", "v2.3.7", Unneeded, true},
		"another trigger": {twice + "Killed process 7 (containerd-shim)", "exit-of-a-shut-down-shim", "v2.3.7",
			Otherwise, false},
		"no reported trigger":   {twice, "exit-of-a-shut-down-shim", "v2.3.7", MayLeave, true},
		"an unreported trigger": {orphan("k8s.io") + start, "containerd-7496", "v1.7.2", Unreported, false},
		"a restart for a crash": {orphan("a") + start, "containerd-6860", "v1.6.36", Nearly, true},
		"another state":         {"TASK PID STATUS\nx 0 UNKNOWN\n", "containerd-8981", "v2.3.7", Unexplained, false},
		"a bundle without a shim": {"# ls /run/containerd/io.containerd.runtime.v2.task/a\n.job-00001\n",
			"containerd-8981", "v2.3.7", Unexplained, false},
		"a pod's bug and dockerd": {orphan("moby") + slow, "containerd-7496", "v1.7.2", OtherClient, true},
		"a message that it logs": {orphan("k8s.io") + `level=error msg="failed to handle sandbox TaskExit event &{}" ` +
			`error="failed to stop sandbox: failed to delete task: context deadline exceeded"`, "containerd-7496", "v1.7.2",
			Logs, true},
		"a message that its window makes": {`level=error msg="failed to load shim /run/x" error="failed to ` +
			`resolve runtime path: invalid custom binary path: stat /x: no such file or directory"` +
			"\nlevel=info msg=\"starting containerd\"",
			"bundle-not-read-at-load", "v2.2.9",
			AtPlace, true},
		"a message that another function makes": {`level=error msg="failed to load shim /run/x" error="open ` +
			`bootstrap.json: permission denied"`, "bundle-not-read-at-load", "v2.2.9", Unreported, false},
		"a function of its window": {orphan("k8s.io") + "at v2.cleanupAfterDeadShim(0x1)", "containerd-7496",
			"v1.7.2", AtPlace, true},
		"no release, so none is out": {orphan("a"), "containerd-8981", "", Explains, true},
		"a call that fails, and another trouble": {"Error: ErrImagePull\n" + removal("DeadlineExceeded"),
			"containerd-10390", "v1.7.32", Explains, false},
		"a code":       {removal("DeadlineExceeded"), "containerd-10390", "v1.7.32", Explains, true},
		"another code": {removal("Unavailable"), "containerd-10390", "v1.7.32", Unexplained, false},
	} {
		f := Rank(read.Text(c.text), c.release, []catalogue.Bug{named(t, c.bug)})[0]
		i := slices.IndexFunc(f.Reasons, func(r Reason) bool { return r.Why == c.why })
		if i < 0 || f.Clears != c.clears {
			t.Errorf("%s: fits %v, want %v, and %s among %+v", name, f.Clears, c.clears, c.why, f.Reasons)
		}
	}
}

func TestEveryReasonHasWords(t *testing.T) {
	for w, row := range whys {
		text := (Reason{Why: w, Is: "EVIDENCE"}).String()
		if row.points < 0 != strings.HasPrefix(text, "- ") || row.points >= 0 != strings.HasPrefix(text, "+ ") ||
			!strings.Contains(text, "EVIDENCE") {
			t.Errorf("%s, %d points: %s", w, row.points, text)
		}
	}
}

func TestTheBestComesFirst(t *testing.T) {
	text := "root 7 1 0 1:00 ? 0:00 /usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id x -address y\n" +
		"# ctr -n k8s.io t ls\nTASK PID STATUS\n"
	bugs := []catalogue.Bug{named(t, "containerd-8981"), named(t, "containerd-7496")}
	for more, want := range map[string]string{
		"[1.2] INFO: task umount:40391 blocked for more than 120 seconds.":            "containerd-7496",
		`level=error msg="failed to shutdown shim task and the shim might be leaked"`: "containerd-8981",
	} {
		if f := Rank(read.Text(text+more), "v1.7.2", bugs)[0]; f.ID != want {
			t.Errorf("%q: %s comes first, %+v", more, f.ID, f.Reasons)
		}
	}
}

// The conditions of a bug without a case are conditions that a report can mention.
func TestTakesAreConditions(t *testing.T) {
	for _, b := range catalogue.Bugs() {
		for _, w := range b.Takes {
			if !slices.Contains(read.Kinds(), read.Kind(w)) || (read.Observation{What: read.Kind(w)}).Sort() != read.Condition {
				t.Errorf("%s needs %q, which is no condition of repro/read", b.ID, w)
			}
		}
	}
}
