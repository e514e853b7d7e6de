package plan

// Functions of containerd that a plan knows by name. A test looks up each of them in the
// default release, so that the test fails if a new release renames one.
var (
	// timed are the functions that timers call: CRI and the metrics plugin collect
	// statistics periodically. A workload reaches them by chance. A sweep skips them,
	// unless --points is used.
	timed = []string{
		"tasks.getTasksMetrics", "tasks.local.Metrics", "tasks.service.Metrics",
		"runtime.shimTask.Stats", "runc-task.service.Stats", "Task.Stats",
		"cri-events.backOff.getExpiredIDs",
	}

	// timedLoop waits for a timer and for other events, so a timer runs only some of its
	// statements.
	timedLoop = "cri-events.EventMonitor.Start"

	// Retried are the functions that carry out a create or a delete, in containerd and in
	// the shim. At their statements, a client cancels its call and retries.
	Retried = []string{
		"tasks.local.Create", "tasks.local.Delete",
		"runtime.TaskManager.Create", "runtime.TaskManager.Delete",
		"runtime.shimTask.Create", "runtime.shimTask.delete",
		"runc-task.service.Create", "runc-task.service.Delete",
	}

	// ForksAndDeletes are the functions that fork a shim or delete a bundle. A fault at
	// each statement can leave other files on disk.
	ForksAndDeletes = []string{
		"runtime.binary.Start", "runtime.Bundle.Delete", "runtime.atomicDelete", "runtime.binary.Delete",
	}

	// CleansUp are the functions that clean up after a dead shim.
	CleansUp = []string{
		"runtime.cleanupAfterDeadShim", "runtime.binary.Delete", "runtime.Bundle.Delete",
		"runtime.atomicDelete", "runtime.shimTask.delete", "runtime.shim.Delete",
	}

	// shimStops is the function of a second shim process (`delete`) that cleans up after a
	// dead one.
	shimStops = "runc-manager.manager.Stop"

	// Boots are the functions that containerd runs at each start, even if it has nothing
	// to recover. The names have no package and no type.
	Boots = []string{
		"init", "initFunc", "Register", "NewShimManager", "defaultPlatforms", "emitPlatformWarnings",
	}

	// ownWork are name prefixes of a shim's main function, of its helpers and of its
	// events, which the shim does not run for a call.
	ownWork = []string{"shim.", "runc-manager.", "runc.Read", "process.NewRunc", "runc-task.service.forward"}

	// Dies are the methods at which a pair of crashes begins: containerd or the shim
	// crashes there first.
	Dies = []string{"Task.Create", "Task.Start", "Task.Delete", "Task.Shutdown"}
)
