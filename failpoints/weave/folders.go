package weave

// Package is a package of containerd whose statements are woven: a probe is compiled in
// before each statement. Its alias is the same for all releases, so that the name of a
// point does not change.
type Package struct {
	Alias string // the first part of a function's name in points: runtime.binary.Start
	// The statements belong to this process: containerd or shim. Some packages are linked
	// into both; the probe of the other process ignores them.
	Who    string
	Folder string // within the module

	// Files are patterns (path.Match) of the files that are woven. Each must match.
	// Without patterns all files are woven.
	Files []string
	// Leave are functions of these files that are not woven.
	Leave []string
	// Also are functions in other files that are woven. Each must be there.
	Also []string
}

// Generation is a line of releases with the folders of its lifecycle code.
type Generation struct {
	Module   string
	Versions string // the prefix of its versions
	Packages []Package
}

// criFiles matches the files of CRI with the lifecycle of pods and containers. The code
// that computes a container's spec is left out. It changes only memory, so a fault in it
// has the same effect as a fault just before it. The rest of the package is lists,
// statistics, exec, attach and port forwarding. These are patterns and not file names,
// because releases add files beside these (sandbox_run_linux.go,
// container_stop_signal.go).
var (
	criFiles = []string{"container_create*.go", "container_start*.go", "container_stop*.go", "container_remove*.go",
		"sandbox_run*.go", "sandbox_stop*.go", "sandbox_remove*.go", "restart*.go", "events*.go"}
	criLeave = []string{
		"volumeMounts",
		"containerMounts",
		"linuxContainerMounts",
		"runtimeSpec",
		"containerSpec",
		"containerSpecOpts",
		"buildContainerSpec",
		"buildLinuxSpec",
		"buildWindowsSpec",
		"buildDarwinSpec",
		"platformSpecOpts",
		"generateUserString",
		"generateSecurityProfile",
		"generateSeccompSecurityProfile",
		"generateApparmorSecurityProfile",
		"generateSeccompSpecOpts",
		"generateApparmorSpecOpts",
		"appArmorProfileExists",
		"snapshotterOpts",
		"sandboxContainerSpec",
		"sandboxContainerSpecOpts",
		"sandboxSnapshotterOpts",
		"parseDNSOptions",
		"cniNamespaceOpts",
		"toCNILabels",
		"toCNIBandWidth",
		"toCNIPortMappings",
		"toCNIDNS",
		"selectPodIPs",
		"ipString",
		"logDebugCNIResult",
		"untrustedWorkload",
		"hostAccessingSandbox",
	}
	// Run starts the event loop and recovery. StopContainer and RemoveContainer call the
	// other two to remove files and mounts.
	criAlso         = []string{"criService.Run", "unmountRecursive", "ensureRemoveAll"}
	podsandboxFiles = []string{
		"controller.go",
		"recover.go",
		"sandbox_run*.go",
		"sandbox_stop*.go",
		"sandbox_delete*.go",
		"store.go",
	}
	podsandboxAlso   = []string{"unmountRecursive", "ensureRemoveAll"}
	generateAndSend  = "criService.generateAndSendContainerEvent" // since 1.7
	withEventsAndOne = append([]string{generateAndSend}, criAlso...)
)

// oneX are the packages that 1.6 and 1.7 share.
func oneX(more ...Package) []Package {
	return append([]Package{
		{Alias: "runtime", Who: "containerd", Folder: "runtime/v2"},
		{Alias: "tasks", Who: "containerd", Folder: "services/tasks"},
		{Alias: "shim", Who: "shim", Folder: "runtime/v2/shim"},
		{Alias: "runc-manager", Who: "shim", Folder: "runtime/v2/runc/manager"},
		{Alias: "runc-task", Who: "shim", Folder: "runtime/v2/runc/task"},
		{Alias: "runc", Who: "shim", Folder: "runtime/v2/runc"},
		{Alias: "process", Who: "shim", Folder: "pkg/process"},
	}, more...)
}

// Generations are the lines of releases that can be woven. A release in which a package
// has moved needs another line here.
var Generations = []Generation{
	{"github.com/containerd/containerd", "1.6.", oneX(
		Package{Alias: "cri", Who: "containerd", Folder: "pkg/cri/server", Files: criFiles, Leave: criLeave, Also: criAlso},
	)},
	{"github.com/containerd/containerd", "1.7.", oneX(
		Package{
			Alias:  "cri",
			Who:    "containerd",
			Folder: "pkg/cri/server",
			Files:  criFiles,
			Leave:  criLeave,
			Also:   withEventsAndOne,
		},
		// With ENABLE_CRI_SANDBOXES these three do the work of CRI.
		Package{
			Alias:  "sbserver",
			Who:    "containerd",
			Folder: "pkg/cri/sbserver",
			Files:  criFiles,
			Leave:  criLeave,
			Also:   withEventsAndOne,
		},
		Package{
			Alias:  "podsandbox",
			Who:    "containerd",
			Folder: "pkg/cri/sbserver/podsandbox",
			Files:  podsandboxFiles,
			Leave:  criLeave,
			Also:   podsandboxAlso,
		},
		Package{Alias: "sandbox", Who: "containerd", Folder: "plugins/sandbox"},
	)},
	{"github.com/containerd/containerd/v2", "2.", []Package{
		{Alias: "runtime", Who: "containerd", Folder: "core/runtime/v2"},
		{Alias: "tasks", Who: "containerd", Folder: "plugins/services/tasks"},
		{Alias: "cri", Who: "containerd", Folder: "internal/cri/server",
			Files: append([]string{"sandbox_service*.go"}, criFiles...), Leave: criLeave, Also: withEventsAndOne},
		{Alias: "cri-events", Who: "containerd", Folder: "internal/cri/server/events"},
		{Alias: "podsandbox", Who: "containerd", Folder: "internal/cri/server/podsandbox",
			Files: append([]string{"events.go"}, podsandboxFiles...), Leave: criLeave, Also: podsandboxAlso},
		// core/sandbox has interfaces, their clients and the types of the store: no
		// lifecycle of its own.
		{Alias: "sandbox", Who: "containerd", Folder: "plugins/sandbox"},
		{Alias: "shim", Who: "shim", Folder: "pkg/shim"},
		{Alias: "runc-manager", Who: "shim", Folder: "cmd/containerd-shim-runc-v2/manager"},
		{Alias: "runc-task", Who: "shim", Folder: "cmd/containerd-shim-runc-v2/task"},
		{Alias: "runc", Who: "shim", Folder: "cmd/containerd-shim-runc-v2/runc"},
		{Alias: "process", Who: "shim", Folder: "cmd/containerd-shim-runc-v2/process"},
	}},
}
