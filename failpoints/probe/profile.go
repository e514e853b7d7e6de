package probe

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"time"
)

// collecting is how long one collection, and what is called after it, may take.
const collecting = 100 * time.Millisecond

// collections: what a finalizer or a cleanup lets go of is garbage of the next one.
const collections = 2

// profile has what is garbage be collected and closed, pidfds of processes that were
// never waited for among it, and is the profile of the goroutines then. collected is
// false where that took too long.
func profile() (text string, collected bool) {
	for i := 0; i < collections; i++ { //nolint:intrange // old releases of containerd have an older language
		if !collect() {
			return "", false
		}
	}
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // to a buffer
	return b.String(), true
}

// collect reports whether the garbage was collected, and finalizers and cleanups have
// run: each kind has its queue, so one of each is waited for.
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
