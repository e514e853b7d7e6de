package script

import "slices"

// Tasks is the script of a workload of the task API that has no script of its own. After
// it, the client removes the containers, as dockerd does.
var Tasks = []string{
	"create all",
	"mark created",
	"start all",
	"mark running",
	"end all",
	"wait all",
	"mark exited",
	"delete all",
}

// Pod is the script of a CRI workload that has no script of its own. After it, the client
// removes the pod and its containers, as kubelet does.
var Pod = []string{
	"run pod",
	"create all",
	"mark created",
	"start all",
	"mark running",
	"end all",
	"wait all",
	"mark exited",
}

// WithRunning returns the script Tasks with additional steps while the containers run.
func WithRunning(steps ...string) []string {
	return slices.Concat(Tasks[:4], steps, Tasks[4:])
}

// Restarting returns the script Tasks with a restart of containerd. During the restart,
// the first container runs, and the others have exited and are not deleted.
func Restarting() []string {
	return slices.Concat(Tasks[:4], []string{"end all but c0", "wait all but c0", "restart containerd",
		"end c0", "wait c0", "mark exited", "delete all"})
}
