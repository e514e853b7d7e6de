// Package progress tells a person how far a program is with what takes long: what it
// does, how much of that is done, at which rate, and how long it still takes. There is
// one Teller for a program; what works finds it in its context, and Begins.
package progress
