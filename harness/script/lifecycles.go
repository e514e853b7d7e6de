package script

// Tasks is the lifecycle of a workload of the task API that has no script.
var Tasks = []string{
	"create all",
	"at created",
	"start all",
	"at running",
	"end all",
	"wait all",
	"at exited",
	"delete all",
}

// Pod is that of a pod. Then the client removes the pod and its containers, as kubelet
// does.
var Pod = []string{
	"run pod",
	"create all",
	"at created",
	"start all",
	"at running",
	"end all",
	"wait all",
	"at exited",
}
