package slowsys

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/poll"
)

// asVictim turns the test binary into the process under test. For each line that it
// reads, it calls umount2 on a path that does not exist, each time on a new thread. It
// prints how long the call took.
const asVictim = "SLOWSYS_TEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(asVictim) == "" {
		os.Exit(m.Run())
	}
	fmt.Println("up")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		go func() {
			runtime.LockOSThread() // never unlocked: the next call gets a new thread
			start := time.Now()
			err := unix.Unmount("/nonexistent/"+in.Text(), unix.MNT_DETACH)
			fmt.Println(time.Since(start).Milliseconds(), err)
		}()
	}
}

type victim struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startVictim(t *testing.T) *victim {
	t.Helper()
	v := &victim{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	v.cmd.Env = append(os.Environ(), asVictim+"=1")
	in := must.Get(v.cmd.StdinPipe())(t)
	out := must.Get(v.cmd.StdoutPipe())(t)
	v.in, v.out = in, bufio.NewReader(out)
	must.Succeed(t, v.cmd.Start())
	t.Cleanup(func() { _ = v.cmd.Process.Kill(); _ = v.cmd.Wait() })
	if line, err := v.out.ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("the victim said %q, %v", line, err)
	}
	return v
}

func (v *victim) call(t *testing.T) {
	t.Helper()
	must.Get(io.WriteString(v.in, "x\n"))(t)
}

// took returns the duration of the next call, by the victim's own clock.
func (v *victim) took(t *testing.T) time.Duration {
	t.Helper()
	var ms int
	line, err := v.out.ReadString('\n')
	if _, scanErr := fmt.Sscan(line, &ms); err != nil || scanErr != nil {
		t.Fatalf("the victim said %q, %v, %v", line, err, scanErr)
	}
	must.Contain(t, line, unix.ENOENT.Error(), "the delayed call's own result")
	return time.Duration(ms) * time.Millisecond
}

// create returns a function that creates the log with that name, or nil for no name.
func create(name string) func() (io.WriteCloser, error) {
	if name == "" {
		return nil
	}
	return func() (io.WriteCloser, error) { return os.Create(name) }
}

func attach(t *testing.T, v *victim, delay time.Duration, log string) *Injection {
	t.Helper()
	in, err := Attach(must.Within(t, 10*time.Second), Params{
		PID: v.cmd.Process.Pid, Syscall: "umount2", Delay: delay, Log: create(log),
	})
	if errors.Is(err, ErrNoStrace) {
		t.Skip(err)
	}
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, in.Detach(must.Within(t, 10*time.Second))) })
	return in
}

// awaitDelay waits until a call is in its delay.
func awaitDelay(t *testing.T, in *Injection) {
	t.Helper()
	err := poll.Until(must.Within(t, 10*time.Second), time.Millisecond, func() (bool, error) {
		n, _ := in.Fired()
		return n > 0, nil
	})
	must.Succeed(t, err, "the delay has not begun within 10 s")
}

func TestEveryThreadIsDelayedAndThenNoneIs(t *testing.T) {
	const delay = 150 * time.Millisecond
	v := startVictim(t)
	v.call(t)
	if d := v.took(t); d >= delay {
		t.Fatalf("umount2 takes %v even without the fault", d)
	}
	log := filepath.Join(t.TempDir(), "strace.log")
	in := attach(t, v, delay, log)
	if n, _ := in.Fired(); n != 0 {
		t.Errorf("fired %d times before any call", n)
	}
	for range 2 {
		v.call(t)
	}
	for range 2 {
		if d := v.took(t); d < delay-time.Millisecond {
			t.Errorf("umount2 took %v, want at least %v", d, delay)
		}
	}
	v.call(t) // on a thread that did not exist when strace attached
	if d := v.took(t); d < delay-time.Millisecond {
		t.Errorf("umount2 of a new thread took %v, want at least %v", d, delay)
	}
	must.Succeed(t, in.Detach(must.Within(t, 10*time.Second)))
	n, longest := in.Fired()
	if n != 3 || longest < delay-time.Millisecond || longest > 10*time.Second {
		t.Errorf("fired %d times, the longest %v; want 3, at least %v", n, longest, delay)
	}
	v.call(t)
	if d := v.took(t); d >= delay {
		t.Errorf("umount2 took %v after Detach", d)
	}
	text, err := os.ReadFile(log)
	calls := callsIn(string(text))
	if err != nil || len(calls) != 3 || calls[0].Args != `"/nonexistent/x", MNT_DETACH` {
		t.Errorf("the log that was kept holds %v, %v; want the three calls", calls, err)
	}
}

func TestDetachInTheDelayLetsTheCallGoOn(t *testing.T) {
	v := startVictim(t)
	in := attach(t, v, time.Hour, "")
	v.call(t)
	awaitDelay(t, in)
	if n, longest := in.Fired(); n != 1 || longest != 0 {
		t.Errorf("in its delay: fired %d times, %v; want 1, with no time yet", n, longest)
	}
	must.Succeed(t, in.Detach(must.Within(t, 10*time.Second)))
	if d := v.took(t); d > time.Minute {
		t.Errorf("the call took %v", d)
	}
	must.Equal(t, in.Err(), nil, "after Detach")
}

func TestAStraceThatIsKilledIsLost(t *testing.T) {
	v := startVictim(t)
	in := attach(t, v, time.Hour, "")
	v.call(t)
	awaitDelay(t, in)
	must.Equal(t, in.Err(), nil, "in the delay")
	must.Succeed(t, in.cmd.Process.Kill())
	<-in.done
	v.took(t) // the call continues
	if err := in.Err(); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("after the SIGKILL of strace: %v, want %v, by which signal", err, ErrLost)
	}
}

func TestAProcessKilledInTheDelayEndsAtOnce(t *testing.T) {
	v := startVictim(t)
	log := filepath.Join(t.TempDir(), "strace.log")
	in := attach(t, v, time.Hour, log)
	v.call(t)
	awaitDelay(t, in)
	start := time.Now()
	must.Succeed(t, v.cmd.Process.Kill())
	_ = v.cmd.Wait()
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("the killed process ended after %v", d)
	}
	<-in.done
	must.Equal(t, in.Err(), nil, "after the end of the process")
	calls := in.Calls()
	// strace may repeat the call for another dying thread; see Fired.
	killed := 0
	for _, c := range calls {
		if c.Killed {
			killed++
		}
		if c.Returned() || c.Args != `"/nonexistent/x", MNT_DETACH` {
			t.Errorf("call %v, want none but the one that the thread ended in", c)
		}
	}
	if n, _ := in.Fired(); killed == 0 || n != len(calls) {
		text, _ := os.ReadFile(log)
		t.Errorf("fired %d times, calls %v, none of them killed; strace wrote\n%s", n, calls, text)
	}
}

func TestTheEndOfTheProcessEndsTheInjection(t *testing.T) {
	v := startVictim(t)
	in := attach(t, v, time.Millisecond, "")
	must.Succeed(t, v.cmd.Process.Kill())
	_ = v.cmd.Wait()
	select {
	case <-in.done:
	case <-time.After(10 * time.Second):
		t.Fatal("strace outlived the process that it traced by 10 s")
	}
	must.Equal(t, in.Err(), nil, "after the end of the process")
}

func TestAttachRefuses(t *testing.T) {
	v := startVictim(t)
	gone := startVictim(t)
	_ = gone.cmd.Process.Kill()
	_ = gone.cmd.Wait()
	attach(t, v, time.Millisecond, "")
	ok := Params{PID: v.cmd.Process.Pid, Syscall: "umount2", Delay: time.Second}
	for name, tc := range map[string]struct {
		change func(*Params)
		is     error  // or
		says   string // a part of the text
	}{
		"no process": {func(p *Params) { p.PID = gone.cmd.Process.Pid }, ErrNotAttached,
			"No such process"},
		"another tracer": {func(p *Params) {}, ErrNotAttached, "not permitted"},
		"no such call":   {func(p *Params) { p.Syscall = "umount3" }, ErrNotAttached, "umount3"},
		"two faults":     {func(p *Params) { p.Syscall = "umount2:error=EIO" }, nil, "want one name"},
		"no pid":         {func(p *Params) { p.PID = 0 }, nil, "pid 0"},
		"no delay":       {func(p *Params) { p.Delay = time.Nanosecond }, nil, "at least 1µs"},
		"no log":         {func(p *Params) { p.Log = create("/none/log") }, os.ErrNotExist, "keep strace's log"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ok
			tc.change(&p)
			in, err := Attach(must.Within(t, 10*time.Second), p)
			if err == nil {
				t.Fatal(errors.Join(errors.New("attached"), in.Detach(must.Within(t, 10*time.Second))))
			}
			if tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %q, want %v, saying %q", err, tc.is, tc.says)
			}
		})
	}
}

func TestAttachNeedsStrace(t *testing.T) {
	t.Setenv("PATH", "/nonexistent")
	_, err := Attach(t.Context(), Params{PID: os.Getpid(), Syscall: "umount2", Delay: time.Second})
	if !errors.Is(err, ErrNoStrace) || !strings.Contains(err.Error(), "apt-get install strace") {
		t.Errorf("%v: want ErrNoStrace, which says how to install it", err)
	}
}
