// Package progress shows the user how far long work is: its name, the units that are
// done, their rate, and the time that is left. A program has one Reporter. Code that
// works long finds it in its context, and calls [Begin].
package progress
