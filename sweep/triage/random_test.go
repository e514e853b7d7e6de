package triage

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Findings of random plans on the untouched v2.4.2, and their bugs. They are known
// wherever the bug can be, and not only in the default sweep's cases.
func TestFindingsOfRandomPlansAreKnown(t *testing.T) {
	const prefix = "stmt:containerd:runtime."
	known := slices.DeleteFunc(slices.Clone(catalogue.Excuses()), func(k catalogue.Excuse) bool {
		return !k.Applies("v2.4.2")
	})
	fault := func(at, do, path string) plan.Fault {
		return plan.Fault{Point: failpoints.MustPoint(at), Nth: 1, Action: do, Path: path}
	}
	for _, tc := range []struct {
		workload string
		faults   []plan.Fault
		found    string
		want     string // "": a new finding
	}{
		{"grouped", []plan.Fault{fault("stmt:shim:shim.serve:return-reap-ctx-logger-signals", "error(x)", "create")},
			"socket socket=silent served-by=neighbour", "socket-of-a-group"},
		{"grouped", []plan.Fault{fault("stmt:shim:shim.serve:return-reap-ctx-logger-signals", "error(x)", "create")},
			"socket socket=silent", ""},
		{"task", []plan.Fault{
			fault("stmt:shim:shim.CreateSocketAddress:ns-err-namespaces.NamespaceRequired-ctx", "error(x)", "delete")},
			"socket socket=silent", "socket-not-removed"},
		{"cri", []plan.Fault{fault("stmt:shim:runc.Container.Delete:if-err-p.Delete-ctx-err-nil", "loseResult", "start")},
			"shim task=none bundle=gone", "shim-kept-by-its-container"},
		{"two", []plan.Fault{fault("rpc:containerd:Events.Forward:entry", "crash", "start")},
			"exit-code by=nobody status=unreported containerd=down", "exit-reported-to-nobody"},
		{"restart", []plan.Fault{fault(prefix+"TaskManager.Get:return-newShimTask-shim", "loseResult", "exit")},
			"exit-code by=nobody status=unreported containerd=down", "exit-reported-to-nobody"},
		{"restart", []plan.Fault{fault(prefix+"TaskManager.Get:return-newShimTask-shim", "loseResult", "exit")},
			"exit-code by=nobody status=unreported", ""},
		{"restart", []plan.Fault{fault("stmt:shim:shim.reap:for", "crash", "exit")},
			"exit-code by=nobody status=unreported containerd=down shim=dead", "exit-unheard-over-a-restart"},
		{"restart", []plan.Fault{fault("rpc:containerd:Task.Connect:exit", "error(x)", "load")},
			"exit-code by=nobody status=unreported containerd=down", "exit-reported-to-nobody"},
		{"cri", []plan.Fault{
			fault("stmt:shim:runc-task.service.Wait:container-err-s.getContainer-r.ID", "loseResult", "start")},
			"exit-code by=cri-status status=made-up-255", "cri-wait-failed"},
		{"task", []plan.Fault{
			fault("stmt:shim:process.Init.start:err-p.runtime.Start-ctx-p.id", "crash", "start"),
			fault(prefix+"binary.Delete:if-err-proto.Unmarshal-out.Bytes-respons", "error(x)", "delete")},
			"event event=no-pid topic=/tasks/exit", "delete-command-fails"},
		{"cri", []plan.Fault{
			fault("stmt:shim:runc.WriteExitStatus:f-err-atomicfile.New-filepath.Join-bundl", "error(x)", "start")},
			"event event=late topic=/tasks/exit after=/tasks/delete", "exit-after-delete"},
		{"cri", []plan.Fault{fault("rpc:containerd:Events.Forward:exit", "delay(200)", "exit")},
			"event event=missing topic=/tasks/delete", "event-refused"},
		{"grouped", []plan.Fault{fault("stmt:shim:shim.serve:path-err-os.Getwd", "loseResult", "create")},
			"event event=no-pid topic=/tasks/exit create=not-asked", "events-of-a-task-that-never-was"},
		{"grouped", []plan.Fault{fault("stmt:shim:shim.serve:path-err-os.Getwd", "loseResult", "create")},
			"event event=no-pid topic=/tasks/exit", ""},
		{"cri", []plan.Fault{fault("stmt:shim:process.Init.Create:p.mu.Lock", "crash", "start")},
			"event event=no-pid create=cut-off shim=dead", "events-of-a-shim-dead-in-create"},
	} {
		must.Equal(t, explainedBy(known, tc.workload, tc.found, tc.faults...), tc.want, tc.workload, tc.faults, tc.found)
	}
}

// explainedBy returns the bug that explains the findings of a case, or "".
func explainedBy(known []catalogue.Excuse, workload, found string, faults ...plan.Fault) (id string) {
	m := finding.MustMatches(found)[0]
	f := finding.Finding{Class: m.Class, Facts: m.Facts}
	r, s := journal.Result{Found: []finding.Finding{f}}, plan.Spec{Workload: workload, Faults: faults}
	of := explainerFor(known, plan.Plan{Version: "v2.4.2"})
	for i := range of.explains(r, s, nil, false) {
		id = of.all[i].ID
	}
	return id
}

// Findings of sweeps of other workloads on the untouched v2.4.2.
func TestFindingsOfOtherWorkloadsAreKnown(t *testing.T) {
	const (
		adds    = "rpc:shim:Task.Exec:entry"
		copies  = "stmt:shim:process.execProcess.start:if-err-pio.Copy-ctx-e.wg-err-nil"
		begins  = "stmt:shim:process.execProcess.start:if-pio-err-createIO-ctx-e.id-e.parent.Io"
		counted = "stmt:shim:process.execCreatedState.Start:return-s.transition-running"
		exits   = "stmt:shim:process.execRunningState.SetExited:if-err-s.transition-stopped-err-nil"
		writes  = "stmt:shim:runc.WriteExitStatus:exitValue-err-json.Marshal-e"
		madeUp  = "exit-code by=cri-status status=made-up-255"
		unheard = "event event=missing topic=/tasks/exit"
	)
	known := slices.DeleteFunc(slices.Clone(catalogue.Excuses()), func(k catalogue.Excuse) bool {
		return !k.Applies("v2.4.2")
	})
	for _, tc := range []struct{ workload, at, do, path, found, want string }{
		{"execsync", adds, "crash", "exit", "exit-code by=TaskExit status=made-up-137 shim=dead", "exit-of-a-dead-shim"},
		{"execsync", adds, "crash", "exit", madeUp + " shim=dead", "cri-exit-of-a-dead-shim"},
		{"execsync", adds, "error(x)", "exit", madeUp + " shim=dead", ""},
		{"stops", adds, "crash", "exit", "cri-status object=container field=state is=too-late", "stop-before-the-exit"},
		{"stops", adds, "error(x)", "exit", "cri-status object=container field=state is=too-late", ""},
		{"execsync", copies, "cancel", "exit", unheard + " of=exec", "exec-start-cut-off"},
		{"output", copies, "error(x)", "exit", "exit-code by=shim-delete status=made-up-0 of=exec", "exec-start-cut-off"},
		{"output", copies, "error(x)", "exit", "exit-code by=shim-delete status=made-up-0", ""},
		{"output", copies, "crash", "exit", unheard + " of=exec", ""},
		{"exec", begins, "error(x)", "exit", unheard + " of=exec", ""},
		{"output", counted, "loseResult", "exit", "exit-code by=TaskExit status=made-up-137", "exec-counted-twice"},
		{"execsync", counted, "error(x)", "exit", "event event=no-time topic=/tasks/exit of=exec", "exec-counted-twice"},
		{"execsync", counted, "cancel", "exit", "exit-code by=TaskExit status=made-up-137", ""},
		{"execsync", exits, "error(x)", "exit", unheard + " of=exec", "exit-of-a-failed-transition"},
		{"output", exits, "loseResult", "exit", "end status=killed", "exit-of-a-failed-transition"},
		{"output", exits, "crash", "exit", "end status=killed", ""},
		{"oom-pod", writes, "crash", "start", unheard, "exit-event-not-awaited"},
		{"oom-pod", writes, "error(x)", "start", unheard, ""},
		{"oom-pod", writes, "crash", "delete", unheard, ""},
	} {
		fault := plan.Fault{Point: failpoints.MustPoint(tc.at), Nth: 1, Action: tc.do, Path: tc.path}
		must.Equal(t, explainedBy(known, tc.workload, tc.found, fault), tc.want, tc.workload, tc.do, "at", tc.at, tc.found)
	}
}
