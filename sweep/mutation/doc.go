// Package mutation shows that the sweep finds bugs. It breaks containerd's source as real
// patches have broken it, a few words at a time (mutations/), sweeps each broken source
// as a nightly does, and asks for its exit status. A sweep that finds nothing in a source
// that is known to leak would otherwise pass for a containerd that leaks nothing.
package mutation
