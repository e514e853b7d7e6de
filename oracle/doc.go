// Package oracle says what must hold when a client is done with containerd, and what does
// not.
//
// It takes an [Inventory] of one place, a [Scene]: a throw-away world. [Leaks] compares
// two inventories, [Settle] waits until nothing is left, [Forgotten] looks for processes
// that containerd does not know, [WrongExits] compares exit codes with the truth and
// [CheckEvents] judges the event stream. Each answer is a list of [Finding], every one
// with its reason in words.
//
// The oracle only looks: it sends no signal, removes no file and connects to no shim. But
// it has containerd collect its garbage where the directory of a snapshot waits for that.
package oracle
