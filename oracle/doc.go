// Package oracle defines what must hold after a client has finished with containerd, and
// finds the violations. It has no code of its own. Each of its packages answers one
// question, and imports only packages of the lines above it.
//
//	fact, scan            the words of findings; readers that know no world
//	finding, affected     what does not hold; which releases have a bug
//	callerr, event        how a call failed; what containerd's events reported
//	criview, exit, rate   what CRI reported; which exit status is wrong; the share of a race
//	inventory, residue    what exists; what a release is known to leave
//	compare, check        what changed; what must hold for events and responses
//	settle                what is left when nothing changes any more
//	wording               how a finding is described to a person
package oracle
