// Command killtest proves that a SIGKILLed harness leaves nothing on the host. It kills a
// parallel run at a random time, again and again. As soon as the next run has made its
// first world, it looks for leftovers. scripts/kill-test runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/tabwriter"
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
	if err := t.run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "killtest:", err)
		os.Exit(1)
	}
}

// cases run when the kill comes: real shims, SIGKILLed shims, and a throttled loop
// device.
var cases = []string{"shutdown-error-once", "shim-sigkill-running", "umount-io-pressure"}

// timeout is how long the kernel may take to free the objects that the next run has
// released. They are a loop device after its last unmount, and a tracer after its tracee.
// firstWorld is how long a run may take to its first world.
const (
	timeout    = 10 * time.Second
	firstWorld = 60 * time.Second
	early      = 1500 * time.Millisecond
)

type test struct {
	program string
	rounds  int
	most    time.Duration
	seed    uint64
	base    string // worlds of this test only
}

// errLeft reports that a round left something.
var errLeft = errors.New("a killed run has left something: see the table")

func (t *test) run(ctx context.Context, out io.Writer) (err error) {
	// Short: the path of a unix socket has at most 108 bytes.
	if t.base, err = os.MkdirTemp("/var/lib", "sqkill"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(t.base)
		}
	}()
	fmt.Fprintf(out, "seed %d, worlds in %s\n", t.seed, t.base)
	random := rand.New(rand.NewPCG(t.seed, 0))
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(
		table,
		"round\tkilled after\tand again after\tworlds\tprocesses\tloop devices\tthrottles\tcgroups\tleft when the next "+
			"run had begun\tall gone after",
	)
	var before *killed
	bad := false
	for round := range t.rounds + 1 {
		r, err := t.start(ctx, round)
		if err != nil {
			return err
		}
		if err := t.awaitWorld(ctx, r, before); err != nil {
			return errors.Join(err, r.kill())
		}
		if before != nil {
			left, took, err := before.awaitGone(ctx)
			if err != nil {
				return errors.Join(err, r.kill())
			}
			fmt.Fprintf(table, "%s\t%s\t%s\n", before.row(round), orNothing(left), took)
			bad = bad || len(left) > 0
		}
		if round < t.rounds {
			moment := time.Duration(random.Int64N(int64(t.most)))
			if before, err = t.killAt(r, moment); err != nil {
				return err
			}
			if random.IntN(3) > 0 {
				continue
			}
			// A second run is killed early: while it collects the leftovers of the first,
			// or makes its first worlds.
			if r, err = t.start(ctx, t.rounds+1+round); err != nil {
				return err
			}
			second, err := t.killAt(r, time.Duration(random.Int64N(int64(early))))
			if err != nil {
				return err
			}
			before.join(second)
			continue
		}
		if _, err := t.killAt(r, 0); err != nil {
			return err
		}
	}
	left, err := t.collect(ctx)
	if err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "after shimquake gc: %s\n", orNothing(left))
	if bad || len(left) > 0 {
		return errLeft
	}
	return nil
}

func orNothing(left []string) string {
	if len(left) == 0 {
		return "nothing"
	}
	return fmt.Sprint(left)
}

// parallelRun is a running harness.
type parallelRun struct {
	cmd   *exec.Cmd
	begun time.Time
	token string // in the environment of the harness and its children on the host
}

func (t *test) start(ctx context.Context, round int) (*parallelRun, error) {
	args := append([]string{"run", "--count", "1000", "--parallel", "4", "--out", filepath.Join(t.base, "out")}, cases...)
	token := fmt.Sprintf("SHIMQUAKE_KILLTEST=%s-%d", filepath.Base(t.base), round)
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
	return &parallelRun{cmd: cmd, begun: time.Now(), token: token}, nil
}

func (r *parallelRun) kill() error {
	if err := r.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("the run ended before it was killed: %w", err)
	}
	_ = r.cmd.Wait() // killed: no error here
	return nil
}

// awaitWorld waits until the run has made a world: then it has collected the leftovers of
// the earlier run.
func (t *test) awaitWorld(ctx context.Context, r *parallelRun, before *killed) error {
	return poll(ctx, firstWorld, func() (bool, error) {
		names, err := t.worlds()
		if err != nil {
			return false, err
		}
		if r.cmd.Process.Signal(nilSignal) != nil {
			return false, errors.New("the run has ended")
		}
		for _, n := range names {
			if before == nil || !slices.Contains(before.worlds, n) {
				return true, nil
			}
		}
		return false, nil
	}, func() string {
		text, _ := os.ReadFile(filepath.Join(t.base, "run.log"))
		return "the run makes no world: " + string(text)
	})
}

// killAt kills the run at a time after its start, and lists its traces.
func (t *test) killAt(r *parallelRun, moment time.Duration) (*killed, error) {
	// A random time is the purpose here, not an event.
	<-time.After(time.Until(r.begun.Add(moment)))
	if err := r.kill(); err != nil {
		return nil, err
	}
	return t.inspect(r.token, time.Since(r.begun))
}

// collect runs `shimquake gc`, and returns the remaining traces.
func (t *test) collect(ctx context.Context) ([]string, error) {
	last, err := t.inspect("no token", 0)
	if err != nil {
		return nil, err
	}
	cmd := child.Command(ctx, t.program, "gc")
	cmd.Env = append(os.Environ(), "SHIMQUAKE_DIR="+t.base)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("shimquake gc: %w: %s", err, text)
	}
	left, _, err := last.awaitGone(ctx)
	return left, err
}

func (t *test) worlds() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(t.base, "worlds"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
