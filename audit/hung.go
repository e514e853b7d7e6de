package audit

import (
	"fmt"
	"sync"
	"time"
)

// looks are those that hang in the kernel, by the procfs that they look at. Nobody can
// end them: a watch that began another each minute would have a thread more each time.
type looks struct {
	mu  sync.Mutex
	all map[string]*look
}

var hung = looks{all: map[string]*look{}}

func (h *looks) keep(l *look) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[l.Proc] = l
}

// check reports that an earlier look has not come back yet.
func (h *looks) check(proc string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.all[proc]
	if l == nil {
		return nil
	}
	select {
	case <-l.ended:
		delete(h.all, proc)
		return nil
	default:
	}
	what, since := l.stuck()
	return fmt.Errorf("reading %s still hangs in the kernel, for %s now: look at that process (wchan, stack); the"+
		" audit goes on when it comes back", what, since.Round(time.Second))
}
