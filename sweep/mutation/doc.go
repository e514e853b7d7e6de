// Package mutation shows that the sweep finds bugs. It breaks containerd's source as real
// patches have broken it, a few words at a time (mutations/). It sweeps each broken
// source like a nightly run, and checks the exit status. Without it, a sweep that finds
// nothing could be blind.
package mutation
