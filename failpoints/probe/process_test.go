package probe_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

// roleEnv turns the test's binary into an instrumented process: it serves the given
// number of requests, and prints the result of each.
const roleEnv = "SHIMQUAKE_TEST_REQUESTS"

func TestMain(m *testing.M) {
	if n := os.Getenv(roleEnv); n != "" {
		_ = exec.Command("/bin/true").Start() // never waited for: its pidfd is garbage
		for range len(n) {
			_, err := probe.Serve(
				context.Background(),
				"/containerd.task.v3.Task/Delete",
				func() {},
				func(_ context.Context, decoded func(any) error) (any, error) {
					return nil, decoded(struct{ ID string }{"c1"})
				},
			)
			fmt.Println(err)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs an instrumented shim that serves n requests in a folder, and returns the
// result of each.
func serve(t *testing.T, n int, dir string, env ...string) ([]string, error) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	ctx := must.Within(t, 20*time.Second)
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{"containerd-shim-test-v1"}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, roleEnv+"="+strings.Repeat("x", n))...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
}

const deleteEntry = "rpc:shim:Task.Delete:entry"

func listen(t *testing.T, onPause func(failpoints.Pause), plan ...failpoints.Fault) (*failpoints.Controller, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	c := must.Get(failpoints.Listen(path, plan, onPause))(t)
	t.Cleanup(func() { must.Succeed(t, c.Close()) })
	return c, probe.SocketEnv + "=" + path
}

// The count of a fault holds across processes: the third request of the case is the first
// of the second process.
func TestAControllerOverTwoProcesses(t *testing.T) {
	c, env := listen(t, nil, failpoints.Fault{At: failpoints.MustPoint(deleteEntry), Do: term.Of(
		term.Clause{Count: 2, Action: term.Off}, term.Clause{Count: 1, Action: term.Error, Arg: "third"})})
	first := must.Get(serve(t, 2, t.TempDir(), env))(t)
	must.Equal(t, first, []string{"<nil>", "<nil>"}, "the first process")
	second := must.Get(serve(t, 2, t.TempDir(), env))(t)
	must.Equal(t, second, []string{"third", "<nil>"}, "the second process")
	c.Flush(time.Minute) // the last messages of the second may be unread
	if hits := c.Hits(); len(hits) != 8 || c.Fired(0) != 1 || hits[4].Did != term.Error || hits[4].ID != "c1" ||
		hits[4].Who != "shim" {
		t.Errorf("fired %d, hits %+v", c.Fired(0), hits)
	}
}

// The hit of a process that kills itself is recorded, and the next process is not killed.
func TestACrash(t *testing.T) {
	c, env := listen(t, nil, failpoints.Crash(deleteEntry, 1))
	_, err := serve(t, 1, t.TempDir(), env)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v, want SIGKILL", err)
	}
	must.Equal(t, c.Fired(0), 1, "fired")
	must.Equal(t, must.Get(serve(t, 1, t.TempDir(), env))(t)[0], "<nil>", "the next")
}

func TestAPause(t *testing.T) {
	held := make(chan failpoints.Hit, 1)
	c, env := listen(
		t,
		func(p failpoints.Pause) { held <- p.Hit; p.Release() },
		failpoints.PauseAt(deleteEntry, failpoints.Steps("release")...),
	)
	out := must.Get(serve(t, 1, t.TempDir(), env))(t)
	must.Equal(t, out[0], "<nil>")
	if h := <-held; h.Point != deleteEntry || c.Fired(0) != 1 {
		t.Errorf("held %+v, fired %d", h, c.Fired(0))
	}
}

// A process that is asked for its goroutines closes its garbage first.
func TestAProfile(t *testing.T) {
	type seen struct {
		text   string
		ok     bool
		pidfds int
	}
	profiles := make(chan seen, 1)
	var c *failpoints.Controller
	c, env := listen(t, func(p failpoints.Pause) {
		text, ok := c.Profile(t.Context(), p.Hit.PID)
		held, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Hit.PID))
		if err != nil || len(held) == 0 {
			t.Errorf("descriptors of %d: %v, %v", p.Hit.PID, held, err)
		}
		got := seen{text: text, ok: ok}
		for _, fd := range held {
			if to, _ := os.Readlink(fd); strings.Contains(to, "pidfd") {
				got.pidfds++
			}
		}
		profiles <- got
		p.Release()
	}, failpoints.PauseAt(deleteEntry, failpoints.Steps("release")...))
	must.Equal(t, must.Get(serve(t, 1, t.TempDir(), env))(t)[0], "<nil>")
	got := <-profiles
	if !got.ok || !strings.HasPrefix(got.text, "goroutine profile: ") || !strings.Contains(got.text, "probe.Serve") {
		t.Errorf("%v, %q", got.ok, got.text)
	}
	must.Equal(t, got.pidfds, 0, "pidfds are open")
}

// A controller that ends releases all waiting processes.
func TestAControllerThatEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	paused := make(chan struct{})
	c := must.Get(failpoints.Listen(path,
		failpoints.Plan{failpoints.PauseAt(deleteEntry, failpoints.Steps("release")...)},
		func(failpoints.Pause) { close(paused) }))(t)
	closed := make(chan error, 1)
	go func() { <-paused; closed <- c.Close() }()
	out, err := serve(t, 2, t.TempDir(), probe.SocketEnv+"="+path)
	if err != nil || !slices.Equal(out, []string{"<nil>", "<nil>"}) || <-closed != nil {
		t.Errorf("%q, %v", out, err)
	}
	// The controller ended before the process begins.
	must.Equal(t, must.Get(serve(t, 1, t.TempDir(), probe.SocketEnv+"="+path))(t)[0], "<nil>")
}

func bundle(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600))
	return dir
}

func TestStandalone(t *testing.T) {
	annotated := `{"annotations":{"shimquake.failpoint/` + deleteEntry +
		`":"1*off->1*error(from the bundle)","other":"x"}}`
	for _, test := range []struct {
		name, dir, env string
		want           []string
	}{
		{"neither", "", "", []string{"<nil>", "<nil>", "<nil>"}},
		{"environment", "", deleteEntry + "=1*error(a); rpc:shim:Task.Delete:exit = 1*off->error(b) ;",
			[]string{"a", "b", "b"}},
		{"annotations", annotated, "", []string{"<nil>", "from the bundle", "<nil>"}},
		{"annotations over environment", annotated, deleteEntry + "=error(a)",
			[]string{"<nil>", "from the bundle", "<nil>"}},
		{"a bundle that is none", "{", deleteEntry + "=1*error(a)", []string{"a", "<nil>", "<nil>"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if test.dir != "" {
				dir = bundle(t, test.dir)
			}
			out := must.Get(serve(t, 3, dir, probe.FailpointsEnv+"="+test.env))(t)
			must.Equal(t, out, test.want)
		})
	}
}

// A process that cannot inject the requested fault must not run without it.
func TestStandaloneRefuses(t *testing.T) {
	for env, says := range map[string]string{
		deleteEntry + "=crahs":   "crahs",
		deleteEntry + "=1*pause": "needs a controller",
	} {
		_, err := serve(t, 1, t.TempDir(), probe.FailpointsEnv+"="+env)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), deleteEntry) {
			t.Errorf("%s: %v; want status 2, the point and %q", env, err, says)
		}
	}
}

// A controller also decides the faults of the bundle.
func TestAnnotationsWithAController(t *testing.T) {
	c, env := listen(t, nil)
	dir := bundle(t, `{"annotations":{"shimquake.failpoint/`+deleteEntry+`":"1*error(x)"}}`)
	out, err := serve(t, 2, dir, env)
	if err != nil || !slices.Equal(out, []string{"x", "<nil>"}) || c.Fired(0) != 1 || c.Err() != nil {
		t.Errorf("%q, %v; fired %d, %v", out, err, c.Fired(0), c.Err())
	}
}
