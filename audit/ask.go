package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/ttrpc"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/quote"
)

// asks is the maximum number of concurrent containerds, and of calls for tasks.
const asks = 16

// each calls f for all items, and for so many at a time.
func each[T any](parallel int, all []T, f func(*T)) {
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range all {
		group.Go(func() error {
			f(&all[i])
			return nil
		})
	}
	_ = group.Wait() // no member fails
}

// ask asks the containerds of the view concurrently, so that a slow containerd does not
// block the others. It merges their responses.
func (w *viewing) ask(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, part(ctx, timeoutsOfLists*w.Timeout))
	defer cancel()
	each(asks, w.Daemons, func(d *Daemon) {
		err := w.askOne(ctx, d)
		if d.Answered = err == nil; err != nil {
			d.Error = quote.Cut(err.Error(), maxText)
		}
	})
}

// askOne asks a containerd for its version and its lists.
func (w *viewing) askOne(ctx context.Context, d *Daemon) (err error) {
	if d.conn, err = w.connect(d); err != nil {
		return err
	}
	client, err := containerd.NewWithConn(d.conn)
	if err != nil {
		return err
	}
	version, err := client.Version(ctx)
	if err != nil {
		return fmt.Errorf("it did not return its version: %w", err)
	}
	d.Version = cmp.Or(release(version.Version), d.Version)
	inv, err := inventory.Take(ctx, inventory.Scene{Client: client},
		finding.ClassContainer, finding.ClassTask, finding.ClassSandbox)
	if err != nil {
		return err
	}
	states, err := askCRI(ctx, d.conn)
	d.CRI = states != nil
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ns := range inv.Daemon.Namespaces {
		w.Namespaces[ns] = true
	}
	for _, c := range inv.Daemon.Details {
		w.know(Key(c.Ref), Known{Container: &c})
	}
	for _, t := range inv.Daemon.Tasks {
		w.know(Key{t.Namespace, t.ID}, Known{Task: &t})
	}
	for _, r := range inv.Daemon.Sandboxes {
		w.know(Key(r), Known{Sandbox: true})
	}
	for id, state := range states {
		w.know(Key{criNamespace, id}, Known{CRI: state})
	}
	return nil
}

// askCRI returns the states of CRI's pods and containers, by their ids. It returns nil if
// containerd has no CRI.
func askCRI(ctx context.Context, conn *grpc.ClientConn) (map[string]string, error) {
	sandboxes, containers, err := criview.Lists(ctx, cri.NewRuntimeServiceClient(conn))
	if status.Code(err) == codes.Unimplemented {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask CRI: %w", err)
	}
	states := map[string]string{}
	for _, item := range slices.Concat(sandboxes, containers) {
		states[item.ID] = item.State
	}
	return states, inventory.CheckNames("id", slices.Collect(maps.Keys(states)))
}

// confirm asks for each task that is not in the list, but has objects on the node. The
// list leaves out a task if its shim does not respond, and such a shim is no leak. Only
// NotFound proves that containerd does not know the task.
func (w *viewing) confirm(ctx context.Context) {
	var want []Key
	for k, is := range w.Known {
		if is.Found && is.Task == nil {
			want = append(want, k)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeoutsOfTasks*w.Timeout)
	defer cancel()
	each(asks, want, func(k *Key) {
		t, err := w.get(ctx, *k)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.know(*k, Known{Task: t})
		if err != nil {
			w.Complete = false
			w.note("ask for task %s/%s: %s", k.Namespace, k.ID, quote.Cut(err.Error(), maxText))
		}
	})
}

// get asks every containerd of the view for a task. It returns nil if none has the task.
func (w *viewing) get(ctx context.Context, k Key) (*inventory.Task, error) {
	t := &inventory.Task{Namespace: k.Namespace, ID: k.ID}
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", k.Namespace)
	for _, d := range w.Daemons {
		if !d.Answered {
			continue
		}
		r, err := tasksapi.NewTasksClient(d.conn).Get(ctx, &tasksapi.GetRequest{ContainerID: k.ID})
		switch status.Code(err) {
		case codes.OK:
			t.PID, t.Status = int(r.GetProcess().GetPid()), r.GetProcess().GetStatus().String()
			return t, nil
		case codes.NotFound:
		case codes.DeadlineExceeded: // containerd's own timeout for the shim, of 2 s
			t.Status = fact.TaskUnknown
			return t, nil
		default:
			return nil, err
		}
	}
	return nil, nil
}

// mayAsk are the only methods that an audit calls. None of them changes anything. The
// connection refuses all others.
var mayAsk = []string{
	"/containerd.services.version.v1.Version/Version",
	"/containerd.services.namespaces.v1.Namespaces/List",
	"/containerd.services.containers.v1.Containers/ListStream",
	listTasks,
	"/containerd.services.tasks.v1.Tasks/Get",
	"/containerd.services.sandbox.v1.Store/List",
	"/runtime.v1.RuntimeService/ListPodSandbox",
	"/runtime.v1.RuntimeService/ListContainers",
}

const listTasks = "/containerd.services.tasks.v1.Tasks/List"

var errMayNotAsk = errors.New("an audit does not call this method")

// begin returns the context of a call, with the timeout.
func (w *viewing) begin(ctx context.Context, method string) (context.Context, context.CancelFunc, error) {
	if !slices.Contains(mayAsk, method) {
		return nil, nil, fmt.Errorf("%w: %s", errMayNotAsk, method)
	}
	w.at("containerd's answer")
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	return ctx, cancel, nil
}

// call is a grpc.UnaryClientInterceptor. The error is the context's own if the timeout
// is over: then containerd has not responded with DeadlineExceeded.
func (w *viewing) call(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
	call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel, err := w.begin(ctx, method)
	if err != nil {
		return err
	}
	defer cancel()
	err = call(ctx, method, req, reply, conn, opts...)
	switch {
	case method == listTasks && status.Code(err) == codes.DeadlineExceeded:
		// For the list, containerd asks each shim for up to 2 s. If several shims do not
		// respond, the list takes longer than the timeout. Then confirm asks for each task
		// separately.
		return nil
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

// stream is a grpc.StreamClientInterceptor.
func (w *viewing) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	call grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel, err := w.begin(ctx, method)
	if err != nil {
		return nil, err
	}
	s, err := call(ctx, desc, conn, method, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	context.AfterFunc(s.Context(), cancel)
	return s, nil
}

// connect opens containerd's socket. It checks that containerd's own process listens on
// the socket. It resolves the path inside the view's root, because a symbolic link could
// lead out of that root.
func (w *viewing) connect(d *Daemon) (*grpc.ClientConn, error) {
	address := strings.TrimPrefix(d.Address, "unix://")
	// Read again, because containerd may have begun to listen since the first read.
	own := inventory.HeldSockets(w.dir(d.PID))
	if !slices.ContainsFunc(w.listening, func(s scan.UnixSocket) bool {
		return path.Base(s.Path) == path.Base(address) && slices.Contains(own, s.Inode)
	}) {
		return nil, fmt.Errorf("process %d does not listen on %s: containerd is starting, or its configuration was changed"+
			" after its start", d.PID, d.Address)
	}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		f, err := w.whole.Open(address, unix.O_PATH)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // O_PATH
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			return nil, err
		}
		if _, _, err := ttrpc.UnixCredentialsFunc(w.checkUser).Handshake(ctx, conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}
	return grpc.NewClient("passthrough:///containerd",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithMaxHeaderListSize(64<<10),
		grpc.WithChainUnaryInterceptor(scan.BoundReply, w.call),
		grpc.WithChainStreamInterceptor(scan.BoundStream, w.stream))
}

// maxAnswer limits the size of a response, in bytes: containerd's own limit.
const maxAnswer = 16 << 20

// checkUser returns an error if the listener of a socket is not the user of containerd.
func (w *viewing) checkUser(listener *unix.Ucred) error {
	if int(listener.Uid) != w.owner.UID {
		return fmt.Errorf("uid %d listens on the socket, and not uid %d, which runs containerd", listener.Uid, w.owner.UID)
	}
	return nil
}

func (w *viewing) close() {
	for _, d := range w.Daemons {
		if d.conn != nil {
			_ = d.conn.Close() // an error cannot lose data
		}
	}
}
