package script

import "slices"

// Tasks is the lifecycle of tasks, for a workload without a script. Then the client
// removes the containers, as dockerd does.
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

// Pod is that of a pod. Then the client removes the pod and its containers, as kubelet
// does.
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

// WithRunning is the lifecycle of tasks with steps between the start and the end of the
// containers.
func WithRunning(steps ...string) []string {
	return slices.Concat(Tasks[:4], steps, Tasks[4:])
}

// Restarting is the lifecycle of tasks with a restart of containerd: the first container
// runs, and the others have ended and are not deleted.
func Restarting() []string {
	return slices.Concat(Tasks[:4], []string{"end all but c0", "wait all but c0", "restart containerd",
		"end c0", "wait c0", "mark exited", "delete all"})
}
