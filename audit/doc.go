// Package audit looks at a live node and says which shims, sockets, bundles, mounts,
// cgroups, tasks and runc states belong to nobody.
//
// A [Look] reads a [Node]: /proc, the disk through /proc/PID/root, and what each
// containerd answers. [Compare] judges it: a pure function from a Node to suspects.
// [Run] looks twice, because a node in motion is not a leak.
//
// It is safe where nobody dares to touch anything: it sends no signal, writes no file,
// asks containerd only what lists or gets, each with a deadline, and never connects to a
// shim. TestAnAuditOnlyReads watches its system calls, and TestImports what it is linked
// with: nothing of the harness, no failpoints.
//
// It believes root only. A user of the node can name a process, a socket, a mount and a
// cgroup as it likes: none of them hides a leak, is accused as one, or keeps the report
// from appearing (hostile_test.go).
package audit
