// Package audit inspects a live node. It reports shims, sockets, bundles, mounts,
// cgroups, tasks and runc states without an owner.
//
// [Scan] reads the state of a [Node] once: /proc, the disk through /proc/PID/root, and
// the responses of each containerd. [Compare] is a pure function that returns the
// suspects of a Node. [Run] looks twice, because an object that is being created or
// removed is not a leak.
//
// It is safe on a production node. It sends no signal and writes no file. It calls only
// methods of containerd that list or get, each with a deadline, and never connects to a
// shim. TestAnAuditOnlyReads checks its system calls. TestImports checks that neither
// the harness nor failpoints are linked.
//
// It trusts only root. A user of the node can choose the names of processes, sockets,
// mounts and cgroups. Such names cannot hide a leak, fake a leak, or block the report
// (hostile_test.go).
package audit
