// Package oracle says what must hold when a client is done with containerd, and what does
// not. It has no code of its own: each room answers one question, and imports only rooms
// of the lines above it.
//
//	fact, scan            the words of findings; readers that know no world
//	finding, affected     what does not hold; which releases have a bug
//	callerr, event        how a call failed; what containerd's events reported
//	criview, exit, rate   what CRI said; which exit status is wrong; the share of a race
//	inventory, residue    what exists; what a release is known to leave
//	compare, check        what changed; what must hold of events and answers
//	settle                what is left when nothing changes any more
//	wording               how a finding is said to a person
package oracle
