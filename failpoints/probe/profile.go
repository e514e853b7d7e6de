package probe

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"time"
)

// collecting bounds one garbage collection, with its finalizers and cleanups.
const collecting = 100 * time.Millisecond

// The second collection frees the garbage that finalizers and cleanups have made.
const collections = 2

// profile collects the garbage, and then returns the profile of the goroutines. The
// collection closes, among others, the pidfds of processes that were never waited for.
// collected is false if this took too long.
func profile() (text string, collected bool) {
	for i := 0; i < collections; i++ { //nolint:intrange // old releases of containerd have an older language
		if !collect() {
			return "", false
		}
	}
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // never fails: it writes to a buffer
	return b.String(), true
}

// collect reports whether the garbage was collected, and finalizers and cleanups have
// run. Finalizers and cleanups have separate queues, so collect waits for one of each.
func collect() bool {
	finalized, cleaned := make(chan struct{}), make(chan struct{})
	runtime.SetFinalizer(&[16]byte{}, func(*[16]byte) { close(finalized) })
	runtime.AddCleanup(&[16]byte{}, func(c chan struct{}) { close(c) }, cleaned)
	runtime.GC()
	late := time.NewTimer(collecting)
	defer late.Stop()
	for _, ran := range []chan struct{}{finalized, cleaned} {
		select {
		case <-ran:
		case <-late.C:
			return false
		}
	}
	return true
}
