// Package audit inspects a live node. It reports shims, sockets, bundles, mounts,
// cgroups, tasks and runc states without an owner.
//
// A [Look] reads a [Node]: /proc, the disk through /proc/PID/root, and the responses of
// each containerd. [Compare] is a pure function from a Node to suspects. [Run] looks
// twice, because a change in progress is not a leak.
//
// It is safe on a production node. It sends no signal and writes no file. It calls only
// methods of containerd that list or get, each with a deadline, and never connects to a
// shim. TestAnAuditOnlyReads checks its system calls. TestImports checks that neither
// the harness nor failpoints are linked.
//
// It trusts only root. A user of the node can choose the names of processes, sockets,
// mounts and cgroups. None of them hides a leak, is reported as one, or blocks the
// report (hostile_test.go).
package audit
