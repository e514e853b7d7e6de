// Package oracle defines what must hold after a client has finished with containerd, and
// finds the violations. This package has no code. Each package below it answers one
// question, and imports only packages of the lines above its own.
//
//	fact, scan            the facts of findings; readers of the kernel and of files
//	finding, affected     which statement does not hold; which releases have a bug
//	callerr, event        how a call failed; what containerd's events reported
//	criview, exit, rate   what CRI reported; which exit status is wrong; how often a race may lose
//	inventory, residue    what exists; what a release is known to leave
//	compare, check        what changed; what must hold for events and responses
//	settle                what is left when nothing changes any more
//	wording               how a finding is described to a person
package oracle
