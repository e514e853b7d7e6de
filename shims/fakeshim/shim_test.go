package fakeshim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bootstrap "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	task "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/proto"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/poll"
	"github.com/shimquake/shimquake/shims/fakeshim/process"
	"github.com/shimquake/shimquake/shims/fakeshim/record"
)

const (
	namespace = "test"
	soon      = 20 * time.Second // bounds every wait of these tests
)

// host is a folder of bundles, in which shims are started as containerd does.
type host struct {
	binary  string
	dir     string // of the bundles
	sockets string // short: a socket's path has at most 107 bytes
}

func newHost(t *testing.T) *host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: the processes of a fake shim have PID namespaces of their own")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache folder: %v", err)
	}
	binary := must.Get(Build(t.Context(), filepath.Join(cache, "shimquake", "programs")))(t)
	h := &host{binary: binary, dir: t.TempDir(), sockets: must.ShortDir(t)}
	return h
}

// bundle makes a bundle whose process runs the payload's words, and returns its folder.
// These tests have no containerd, so events are only published if an annotation asks for
// them.
func (h *host) bundle(t *testing.T, id, line string, annotations map[string]string) string {
	t.Helper()
	dir := filepath.Join(h.dir, id)
	all := map[string]string{"shimquake.fakeshim": "events=none"}
	for k, v := range annotations {
		if k == "shimquake.fakeshim" {
			v = "events=none," + v
		}
		all[k] = v
	}
	config := must.Get(json.Marshal(map[string]any{
		"process": map[string]any{
			"args": append([]string{payload.Program}, strings.Fields(line)...),
			"env":  []string{payload.TruthEnv + "=/truth/truth"},
		},
		"root":        map[string]any{"path": "rootfs"},
		"mounts":      []any{map[string]any{"destination": "/truth", "type": "bind", "source": dir}},
		"annotations": all,
	}))(t)
	for name, data := range map[string][]byte{"config.json": config, "log": nil, "truth": nil} {
		must.Succeed(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), data, 0o600)))
	}
	return dir
}

// command returns a call of the shim's binary in a bundle, as containerd 2.4 makes it.
func (h *host) command(ctx context.Context, t *testing.T, id, action string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	params := &bootstrap.BootstrapParams{InstanceID: id, Namespace: namespace, SocketDir: &h.sockets}
	stdin := must.Get(proto.Marshal(params))(t)
	cmd := exec.CommandContext(ctx, h.binary, "-namespace", namespace, "-address", "/none.sock",
		"-publish-binary", "/none", "-id", id, action)
	cmd.Dir = filepath.Join(h.dir, id)
	cmd.Env = append(os.Environ(), "TTRPC_ADDRESS=/none.sock.ttrpc")
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return cmd, &stderr
}

// start runs `start` and returns the response.
func (h *host) start(t *testing.T, id string) []byte {
	t.Helper()
	cmd, stderr := h.command(t.Context(), t, id, "start")
	out, err := cmd.Output()
	must.Succeed(t, err, "start", stderr)
	return out
}

// shim is a running shim and a connection to it.
type shim struct {
	task.TTRPCTaskService
	client *ttrpc.Client
	socket string
	id     signal.Identity
	handle *signal.Handle
}

// run makes a bundle, starts its shim and connects to it. The shim has ended at the end
// of the test.
func (h *host) run(t *testing.T, id, line string, annotations map[string]string) *shim {
	t.Helper()
	h.bundle(t, id, line, annotations)
	var answer bootstrap.BootstrapResult
	if err := proto.Unmarshal(h.start(t, id), &answer); err != nil || answer.Version != 3 || answer.Protocol != "ttrpc" {
		t.Fatalf("answer %v, %v", &answer, err)
	}
	return h.dial(t, id, strings.TrimPrefix(answer.Address, "unix://"))
}

func (h *host) dial(t *testing.T, id, socket string) *shim {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	must.Succeed(t, err)
	s := &shim{client: ttrpc.NewClient(conn), socket: socket}
	s.TTRPCTaskService = task.NewTTRPCTaskClient(s.client)
	resp := must.Get(s.Connect(t.Context(), &task.ConnectRequest{ID: id}))(t)
	if s.id, err = signal.Identify(int(resp.ShimPid)); err != nil {
		t.Fatal(err)
	}
	if s.handle, err = signal.OpenSame(s.id); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		if err := s.handle.Kill(ctx); err != nil && !errors.Is(err, signal.ErrGone) {
			t.Error(err)
		}
		_ = s.client.Close()
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(h.dir, id, "log"))
			t.Logf("log of the shim of %s:\n%s", id, text)
		}
		// The killed shim has left its tasks.
		bundles, _ := filepath.Glob(filepath.Join(h.dir, "*"))
		for _, bundle := range bundles {
			if init, err := record.ReadInit(bundle); err == nil {
				if p, err := signal.OpenSame(init); err == nil {
					_ = p.Kill(ctx)
					_ = p.Close()
				}
			}
		}
		_ = s.handle.Close()
	})
	return s
}

// create and begin are the two steps to a running task.
func (s *shim) create(t *testing.T, h *host, id string) uint32 {
	t.Helper()
	resp := must.Get(s.Create(t.Context(), &task.CreateTaskRequest{ID: id, Bundle: filepath.Join(h.dir, id)}))(t)
	return resp.Pid
}

func (s *shim) begin(t *testing.T, h *host, id string) uint32 {
	t.Helper()
	pid := s.create(t, h, id)
	must.Get(s.Start(t.Context(), &task.StartRequest{ID: id}))(t)
	return pid
}

// wait returns the exit status from Wait.
func (s *shim) wait(t *testing.T, id, exec string) uint32 {
	t.Helper()
	ctx := must.Within(t, soon)
	resp := must.Get(s.Wait(ctx, &task.WaitRequest{ID: id, ExecID: exec}))(t)
	return resp.ExitStatus
}

// gone waits until the shim's process has ended.
func (s *shim) gone(t *testing.T) {
	t.Helper()
	must.Succeed(t, s.handle.Wait(must.Within(t, soon)), "the shim lives on")
}

// is checks the kind of a ttrpc error.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	must.Is(t, errgrpc.ToNative(err), want, what)
}

// exited reads the record of a container's payload, and the shim's record of the
// container.
func (h *host) exited(t *testing.T, id string) (payload.Truth, process.Exit) {
	t.Helper()
	truth := truthOf(t, filepath.Join(h.dir, id, "truth"))
	exit := must.Get(record.ReadExit(filepath.Join(h.dir, id)))(t)
	return truth, exit
}

// ready waits until the payload of a container handles signals.
func (h *host) ready(t *testing.T, id string) {
	t.Helper()
	err := poll.Until(must.Within(t, soon), time.Millisecond, func() (bool, error) {
		return !truthOf(t, filepath.Join(h.dir, id, "truth")).ReadyAt.IsZero(), nil
	})
	must.Succeed(t, err, id, "is not ready")
}

// truthOf returns a payload's record of its own run.
func truthOf(t *testing.T, path string) payload.Truth {
	t.Helper()
	return must.Get(payload.ParseTruth(must.Read(t, path)))(t)
}
