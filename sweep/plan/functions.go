package plan

// Functions of containerd that a plan knows by name. A test looks each of them up in the
// woven default release, so that a release that renames one does not quietly empty a
// list.
var (
	// timed are the functions that timers call: CRI and the metrics plugin collect
	// statistics all the time. A workload passes them by chance. They are swept only if
	// --points matches them.
	timed = []string{
		"tasks.getTasksMetrics", "tasks.local.Metrics", "tasks.service.Metrics",
		"runtime.shimTask.Stats", "runc-task.service.Stats", "Task.Stats",
		"cri-events.backOff.getExpiredIDs",
	}

	// timedLoop waits for a timer and for other events: only some of its statements are
	// timed.
	timedLoop = "cri-events.EventMonitor.Start"

	// Retried carry out a create or a delete, on both sides: a client cancels in their
	// statements and comes back.
	Retried = []string{
		"tasks.local.Create", "tasks.local.Delete",
		"runtime.TaskManager.Create", "runtime.TaskManager.Delete",
		"runtime.shimTask.Create", "runtime.shimTask.delete",
		"runc-task.service.Create", "runc-task.service.Delete",
	}

	// ForksAndDeletes fork a shim or delete a bundle. A fault at each of their statements
	// may leave other remains on disk.
	ForksAndDeletes = []string{
		"runtime.binary.Start", "runtime.Bundle.Delete", "runtime.atomicDelete", "runtime.binary.Delete",
	}

	// CleansUp are functions in which each statement matters when a shim is dead.
	CleansUp = []string{
		"runtime.cleanupAfterDeadShim", "runtime.binary.Delete", "runtime.Bundle.Delete",
		"runtime.atomicDelete", "runtime.shimTask.delete", "runtime.shim.Delete",
	}

	// Boots are the functions, without package and type, that containerd runs at each start,
	// also if it has nothing to recover.
	Boots = []string{
		"init", "initFunc", "Register", "NewShimManager", "defaultPlatforms", "emitPlatformWarnings",
	}

	// OwnWork are prefixes of the names of functions that a shim does not run for a call:
	// its main function and its helpers.
	OwnWork = []string{"shim.", "runc-manager.", "runc.Read", "process.NewRunc"}

	// Dies are the methods at which the first process dies, containerd or the shim.
	Dies = []string{"Task.Create", "Task.Start", "Task.Delete", "Task.Shutdown"}
)
