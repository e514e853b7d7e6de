// Package mutation tests whether the sweep finds bugs. Each file in mutations/ breaks
// containerd's source in a few words, as a real patch has broken it. The package sweeps
// each broken source as a nightly run does, and checks the exit status. Without this
// test, a sweep that overlooks a kind of bug would stay unnoticed.
package mutation
