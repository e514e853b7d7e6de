// Package progress shows the user the progress of long work: its name, the units that are
// done, their rate, and the time that is left. A program has one Reporter, which code
// finds in its context. Such code calls [Begin].
package progress
