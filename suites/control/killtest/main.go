// Command killtest proves that a SIGKILLed harness leaves nothing on the host. It kills a
// parallel run at a random time, again and again. Each next run must remove what the
// killed run has left. scripts/kill-test runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/shimquake/shimquake/child"
)

func main() {
	t := test{}
	flag.StringVar(&t.program, "shimquake", "bin/shimquake", "the program under test")
	flag.IntVar(&t.rounds, "rounds", 50, "how often it is killed")
	flag.DurationVar(&t.most, "most", 9*time.Second, "the latest moment of a kill, after the start")
	flag.Uint64Var(&t.seed, "seed", uint64(time.Now().UnixNano()), "of the moments")
	flag.Parse()
	if t.rounds < 1 {
		fmt.Fprintf(os.Stderr, "killtest: -rounds %d kills nothing: at least 1\n", t.rounds)
		os.Exit(2)
	}
	if err := t.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "killtest:", err)
		os.Exit(1)
	}
}

// cases run when the kill comes: real shims, SIGKILLed shims, and a throttled loop
// device.
var cases = []string{"shutdown-error-once", "shim-sigkill-running", "umount-io-pressure"}

// timeout is how long the next run, or gc, may take to remove everything. The kernel then
// frees a loop device after its last unmount, and a tracer after its tracee. early is the
// latest moment of the kill of a second run.
const (
	timeout = 10 * time.Second
	early   = 1500 * time.Millisecond
)

type test struct {
	program string
	rounds  int
	most    time.Duration
	seed    uint64
	base    string // worlds of this test only
	killed  traces
}

func (t *test) run(ctx context.Context) (err error) {
	// Short: the path of a unix socket has at most 108 bytes.
	if t.base, err = os.MkdirTemp("/var/lib", "sqkill"); err != nil {
		return err
	}
	t.killed.base = t.base
	fmt.Printf("seed %d, worlds in %s\n", t.seed, t.base)
	random := rand.New(rand.NewPCG(t.seed, 0))
	for round := range t.rounds {
		moments := []time.Duration{time.Duration(random.Int64N(int64(t.most)))}
		if random.IntN(3) == 0 {
			// A second run is killed early: while it collects the leftovers of the first,
			// or makes its first worlds.
			moments = append(moments, time.Duration(random.Int64N(int64(early))))
		}
		for i, moment := range moments {
			r, err := t.start(ctx)
			if err != nil {
				return err
			}
			if i == 0 {
				if err := t.awaitGone(ctx); err != nil {
					return errors.Join(err, r.Process.Kill())
				}
			}
			<-time.After(moment) // a random time is the purpose here, not an event
			if err := r.Process.Kill(); err != nil {
				return fmt.Errorf("the run ended before it was killed: %w", err)
			}
			_ = r.Wait() // killed: no error here
			if err := t.killed.add(); err != nil {
				return err
			}
		}
		left, err := t.killed.left()
		if err != nil {
			return err
		}
		fmt.Printf("round %d: killed after %s, with %d traces\n", round+1, moments, len(left))
	}
	cmd := child.Command(ctx, t.program, "gc")
	cmd.Env = append(os.Environ(), "SHIMQUAKE_DIR="+t.base)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("shimquake gc: %w: %s", err, text)
	}
	if err := t.awaitGone(ctx); err != nil {
		return err
	}
	return os.RemoveAll(t.base)
}

// start starts the program. A token in its environment is also in that of its children on
// the host.
func (t *test) start(ctx context.Context) (*exec.Cmd, error) {
	args := append([]string{"run", "--count", "1000", "--parallel", "4", "--out", filepath.Join(t.base, "out")}, cases...)
	token := fmt.Sprintf("SHIMQUAKE_KILLTEST=%s-%d", filepath.Base(t.base), len(t.killed.tokens))
	cmd := child.Command(ctx, t.program, args...)
	cmd.Env = append(os.Environ(), "SHIMQUAKE_DIR="+t.base, token)
	log, err := os.Create(filepath.Join(t.base, "run.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", t.program, err)
	}
	t.killed.next = token
	return cmd, nil
}
