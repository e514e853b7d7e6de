package plan

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Words of --actions for typed errors. A caller may handle a typed error differently from
// any other error. For example, NotFound means success for a removal.
const (
	Code  = "code"  // a class of errors of errdefs and gRPC: error(NotFound)
	Errno = "errno" // an error of the operating system: error(ENOSPC)
)

// fails lists the typed errors that a callee can return, and the evidence for them. It
// lists an error only if the callee could really return it in this state. For example, a
// skipped removal must not return NotFound, because the object still exists.
type fails struct {
	who     string
	with    []string
	because string
}

// answers are the typed errors of a shim's methods, as containerd receives them. The
// error comes before the shim has done its work (entry) or after it (exit). A method that
// changes nothing is listed with one of the two only. containerd cannot tell whether the
// error came from the shim's failpoint or from its own.
var answers = []fails{
	{"Task.Create:entry", []string{"Unavailable"}, broken},
	{"Task.Create:exit", []string{"Unavailable", "DeadlineExceeded"}, broken + late},
	{"Task.Start:entry", []string{"NotFound", "Unavailable"}, unknown + broken},
	{"Task.Start:exit", []string{"Unavailable", "DeadlineExceeded"}, broken + late},
	{"Task.Delete:entry", []string{"NotFound", "Unavailable"}, unknown + broken},
	{"Task.Delete:exit", []string{"NotFound", "Unavailable", "DeadlineExceeded"},
		"an earlier Delete, which lost its response, has removed it (process/deleted_state.go:59); " + broken + late},
	{"Task.Kill:entry", []string{"NotFound", "Unavailable"}, unknown + broken},
	{"Task.Kill:exit", []string{"NotFound", "Unavailable", "DeadlineExceeded"},
		"it had ended when the signal came (process/utils.go:123); " + broken + late},
	{"Task.Shutdown:entry", []string{"Unavailable"}, broken},
	{"Task.Shutdown:exit", []string{"Unavailable", "DeadlineExceeded"}, broken + late},
	{"Task.State:entry", []string{"NotFound", "Unavailable", "DeadlineExceeded"},
		unknown + broken + "a slow shim: the timeout task.state is 2 s (services/tasks/local.go:367)"},
	{"Task.Pids:entry", []string{"NotFound", "Unavailable"}, unknown + broken},
	{"Task.Connect:entry", []string{"Unavailable"}, broken}, // service.go:596: it accepts an unknown id
	{"Task.Wait:entry", []string{"NotFound"}, unknown},
	{"Task.Wait:exit", []string{"Unavailable"}, broken},
}

// Evidence that several methods share.
const (
	unknown = "getContainer returns NotFound while the container's Create has not returned (task/service.go:850); "
	broken  = "the connection to a shim that speaks gRPC breaks (core/runtime/v2/bridge.go); "
	late    = "the caller's deadline passed while the response was in flight; "
)

// returns are the typed errors of functions. Each function is named by the end of its
// package path and its name. A function of containerd that only returns another
// function's error is not listed, because the call inside it has its own failpoint.
var returns = []fails{
	{"os.Mkdir", []string{"ENOSPC", "EEXIST"}, "mkdir(2); an earlier try has left the directory"},
	{"os.MkdirAll", []string{"ENOSPC"}, "mkdir(2)"},
	{"os.OS.MkdirAll", []string{"ENOSPC"}, "mkdir(2)"},
	{"os.WriteFile", []string{"ENOSPC"}, "open(2), write(2)"},
	{"os.OS.WriteFile", []string{"ENOSPC"}, "open(2), write(2)"},
	{"os.OS.CopyFile", []string{"ENOSPC"}, "open(2), write(2)"},
	{"atomicfile.New", []string{"ENOSPC"}, "open(2) with O_CREAT"},
	{"atomicfile.File.Write", []string{"ENOSPC"}, "write(2)"},
	{"atomicfile.File.Close", []string{"ENOSPC"},
		"fsync(2), and then it closes nothing (pkg/atomicfile/file.go:108)"},
	{"os.Symlink", []string{"ENOSPC", "EEXIST"}, "symlink(2); an earlier try has left the link"},
	{"os.Rename", []string{"ENOSPC"}, "rename(2): the new directory has no room for the entry"},
	{"mount.All", []string{"ENOSPC"}, "mount(2): fs.mount-max"},
	{"os.OS.Mount", []string{"ENOSPC"}, "mount(2): fs.mount-max"},

	{"os.Remove", []string{"EBUSY"}, "rmdir(2) of a mount point"},
	{"os.RemoveAll", []string{"EBUSY"},
		"the same: ensureRemoveAll retries on EBUSY (cri/server/helpers_linux.go:148)"},
	{"mount.UnmountRecursive", []string{"EBUSY"}, "umount2(2), after 50 tries (core/mount/mount_unix.go:96)"},
	{"os.OS.Unmount", []string{"EBUSY"}, "umount2(2)"},

	{"os.Open", []string{"EMFILE"}, "open(2)"},
	{"os.ReadFile", []string{"EMFILE"}, "open(2)"},
	{"os.ReadDir", []string{"EMFILE"}, "open(2)"},
	{"mountinfo.GetMounts", []string{"EMFILE"}, "open(2) of /proc/thread-self/mountinfo"},
	{"fifo.OpenFifo", []string{"EMFILE"}, "open(2)"},
	{"fifo.OpenFifoDup2", []string{"EMFILE"}, "open(2)"},
	{"go-runc.NewPipeIO", []string{"EMFILE"}, "pipe2(2)"},
	{"go-runc.NewNullIO", []string{"EMFILE"}, "open(2) of /dev/null"},
	{"net.Listen", []string{"EMFILE"}, "socket(2)"},
	{"net.FileListener", []string{"EMFILE"}, "dup(2)"},
	{"net.(*UnixListener).File", []string{"EMFILE"}, "dup(2)"},
	{"exec.(*Cmd).Start", []string{"EMFILE"}, "pipe2(2)"},
	{"exec.(*Cmd).Run", []string{"EMFILE"}, "pipe2(2)"},
	{"exec.(*Cmd).Output", []string{"EMFILE"}, "pipe2(2)"},
	{"exec.(*Cmd).CombinedOutput", []string{"EMFILE"}, "pipe2(2)"},
	{"console.NewEpoller", []string{"EMFILE"}, "epoll_create1(2)"},
	{"oom/v1.New", []string{"EMFILE"}, "epoll_create1(2), for the OOM events of cgroup v1"},
	{"oom.Watcher.Add", []string{"EMFILE"}, "eventfd(2)"},

	{"runtime.(*NSMap[...]).Get", []string{"NotFound"},
		"the shim is not loaded yet, or was never loaded (core/runtime/nsmap.go:57)"},
	{"runtime.(*NSMap[...]).Add", []string{"AlreadyExists"},
		"the cleanup after a dead shim has not finished (core/runtime/nsmap.go:112)"},
	{"client.Container.Task", []string{"NotFound"},
		"as NSMap.Get, by the tasks service (plugins/services/tasks/local.go)"},
	{"client.Task.Delete", []string{"NotFound"}, "the same"},
	{"client.Task.Kill", []string{"NotFound"}, "the same, or the shim's Kill (process/utils.go:123)"},
	{"client.Task.Start", []string{"NotFound"}, "the same"},
	{"client.Task.Wait", []string{"NotFound"}, "the same"},
	{"tasks/v1.TasksClient.Delete", []string{"NotFound"}, "the same"},
	{"client.Container.NewTask", []string{"AlreadyExists"},
		"an earlier try has created the task (services/tasks/local.go:275)"},
	{"client.(*Client).NewContainer", []string{"AlreadyExists"},
		"an earlier try has created it (core/metadata/containers.go:151)"},
	{"core/sandbox.Store.Create", []string{"AlreadyExists"},
		"an earlier try has created it (core/metadata/sandbox.go:310)"},
	{"leases.Manager.Create", []string{"AlreadyExists"},
		"an earlier try has created it (core/metadata/leases.go:76)"},
	{"mount.Manager.Activate", []string{"AlreadyExists"},
		"an earlier try has activated it (core/mount/manager/manager.go:206)"},
	{"core/sandbox.Controller.Stop", []string{"NotFound"},
		"a sandbox that was not recovered (podsandbox/sandbox_stop.go:39)"},
	{"core/sandbox.Controller.Status", []string{"NotFound"},
		"a sandbox that was not recovered (podsandbox/sandbox_status.go:36)"},
}

// fails returns the entries for a hit: of answers for a ttrpc method, and of returns for
// a call.
func (p Hit) fails() []fails {
	list, is := returns, func(who string) bool { return p.Callee == who || strings.HasSuffix(p.Callee, "/"+who) }
	switch {
	case p.Moment == AtMethod && p.Point.Who == "containerd":
		list, is = answers, func(who string) bool { return p.Point.What+":"+p.Point.Where == who }
	case p.Moment != term.AtCall:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(f fails) bool { return !is(f.who) })
}

// typed returns the errors of the word [Code] or [Errno] that can happen at a hit.
func (p Hit) typed(word string) []string {
	var out []string
	for _, f := range p.fails() {
		for _, name := range f.with {
			if _, errno := (term.Clause{Arg: name}).Errno(); errno == (word == Errno) {
				out = append(out, "error("+name+")")
			}
		}
	}
	return out
}
