package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/oracle"
)

// mountedTruth is where a container finds the world's TruthDir.
const mountedTruth = "/shimquake"

// witness knows how payloads really end, without asking containerd.
type witness struct{ world *world.World }

func (w witness) file(name string) string    { return filepath.Join(w.world.TruthDir(), name+".truth") }
func (w witness) trigger(name string) string { return filepath.Join(w.world.TruthDir(), name+".end") }

// record is what the payload of a container has noted.
func (w witness) record(name string) (payload.Truth, error) { return payload.ReadTruth(w.file(name)) }

// expect makes the file that the payload of a container writes to.
func (w witness) expect(name string) error { return os.WriteFile(w.file(name), nil, 0o666) }

// release lets a waiting payload come to its end.
func (w witness) release(name string) error { return os.WriteFile(w.trigger(name), nil, 0o644) }

// lookEvery is how often the record of a payload that has been started is looked at; patience is how long it may take to write its first line.
// It needs some 3 ms here.
const (
	lookEvery = time.Millisecond
	patience  = 2 * time.Second
)

// begun waits until the payload of a container whose Start has succeeded runs, and handles signals if it is sent one: Start returns when
// the payload's program is about to be loaded, and of a payload that is killed before its first line nobody could say how it ended. It gives
// up on a payload that does not come to it.
func (w witness) begun(ctx context.Context, k *container) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		own, err := w.record(k.name)
		if err == nil && own.Runs > 0 && (k.spec.Signal == "" || !own.ReadyAt.IsZero()) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// truth is how the payload of a container really ended. ran is false when it never began.
//
// A payload that notes its start and not its end was killed: the program handles or ignores every other signal, and as the init of its PID
// namespace it is out of reach of their default actions. Where the world's init has reaped it, the wait status is compared.
func (w witness) truth(k *container) (t oracle.Truth, ran bool, err error) {
	own, err := w.record(k.name)
	if err != nil {
		return oracle.Truth{}, false, err
	}
	if own.Runs == 0 {
		return oracle.Truth{}, false, nil
	}
	if own.Runs > 1 {
		return oracle.Truth{}, true, fmt.Errorf("the payload of %s was started %d times", k.name, own.Runs)
	}
	t = oracle.Truth{Container: k.id, Status: 128 + uint32(unix.SIGKILL), Source: "killed: its own record ends before its exit"}
	if own.Exited {
		t.Status, t.Source = uint32(own.Status), "its own record"
	}
	for _, e := range w.world.Exits() {
		if k.pid == 0 || e.PID != int(k.pid) {
			continue
		}
		if e.Code() != t.Status {
			return t, true, fmt.Errorf("the payload of %s: %s says %d, the world's init reaped pid %d with %d", k.name, t.Source, t.Status, k.pid, e.Code())
		}
		t.Source += fmt.Sprintf(", reaped by the world's init as pid %d", k.pid)
	}
	return t, true, nil
}

// killedBefore is the truth of a container whose payload never began because the harness has killed its init before.
func (x *experiment) killedBefore(k *container) (oracle.Truth, bool) {
	x.inject.mu.Lock()
	defer x.inject.mu.Unlock()
	for id := range x.inject.killed {
		if k.pid != 0 && id.PID == int(k.pid) {
			return oracle.Truth{Container: k.id, Status: 128 + uint32(unix.SIGKILL), Source: "SIGKILL sent by the harness, before its payload began"}, true
		}
	}
	return oracle.Truth{}, false
}

// release lets the payload of a container come to its end, as soon as containerd is up: whether one that was killed is back by then must not be a
// matter of luck. What ends while containerd is down is ended by a fault, proc:task:running after proc:containerd:running.
func (x *experiment) release(ctx context.Context, k *container) {
	if _, _, err := x.daemon.Up(ctx); err != nil {
		x.timeline.note("client", "containerd is not up when %s is to end: %v", k.name, err)
	}
	x.invalid(x.witness.release(k.name))
}
