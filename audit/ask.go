package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/quote"
)

// asker asks the containerds of a view.
type asker struct {
	*viewing
	listening []scan.UnixSocket
	conns     []*grpc.ClientConn // by the index in View.Daemons; nil without a connection
	mu        sync.Mutex         // of View.Known and View.Notes, during concurrent calls
}

func newKnown() Known {
	return Known{
		Containers: map[Key]inventory.ContainerDetails{}, Tasks: map[Key]inventory.Task{}, Sandboxes: map[Key]bool{},
		Pods: map[string]string{}, CRIContainers: map[string]string{},
	}
}

// asks is the maximum number of concurrent containerds, and of calls for tasks.
const asks = 16

// all asks the containerds of the view concurrently, so that a slow containerd does not
// block the others. It merges their responses.
func (a *asker) all(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, part(ctx, timeoutsOfLists*a.Timeout))
	defer cancel()
	a.conns = make([]*grpc.ClientConn, len(a.Daemons))
	a.Known = newKnown()
	var group errgroup.Group
	group.SetLimit(asks)
	for i := range a.Daemons {
		group.Go(func() error {
			d := &a.Daemons[i]
			err := a.one(ctx, i, d)
			if d.Answered = err == nil; err != nil {
				d.Error = quote.Cut(err.Error(), maxText)
			}
			return nil
		})
	}
	_ = group.Wait() // no member fails
	slices.Sort(a.Known.Namespaces)
	a.Known.Namespaces = slices.Compact(a.Known.Namespaces)
}

// one asks a containerd for its version and its lists. It returns an error for an id that
// could forge a row, a path or a command.
func (a *asker) one(ctx context.Context, i int, d *Daemon) (err error) {
	if a.conns[i], err = a.connect(d); err != nil {
		return err
	}
	client, err := containerd.NewWithConn(a.conns[i])
	if err != nil {
		return err
	}
	version, err := client.Version(ctx)
	if err != nil {
		return fmt.Errorf("it did not return its version: %w", err)
	}
	if v := release(version.Version); v != "" {
		d.Version = v
	}
	inv, err := inventory.Take(ctx, inventory.Scene{Client: client},
		finding.ClassContainer, finding.ClassTask, finding.ClassSandbox)
	if err != nil {
		return err
	}
	pods, containers, err := askCRI(ctx, a.conns[i])
	d.CRI = pods != nil

	var invalid []string
	isValid := func(id string) bool {
		is := scan.IsName(id)
		if !is {
			invalid = append(invalid, id)
		}
		return is
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Known.Namespaces = append(a.Known.Namespaces, inv.Daemon.Namespaces...)
	for _, c := range inv.Daemon.Details {
		if isValid(c.ID) && (c.Kind == "" || isValid(c.Kind)) {
			a.Known.Containers[Key(c.Ref)] = c
		}
	}
	for _, t := range inv.Daemon.Tasks {
		if isValid(t.ID) {
			a.Known.Tasks[Key{t.Namespace, t.ID}] = t
		}
	}
	for _, r := range inv.Daemon.Sandboxes {
		if isValid(r.ID) {
			a.Known.Sandboxes[Key(r)] = true
		}
	}
	for _, p := range pods {
		if isValid(p.Id) {
			a.Known.Pods[p.Id] = p.State.String()
		}
	}
	for _, c := range containers {
		if isValid(c.Id) {
			a.Known.CRIContainers[c.Id] = c.State.String()
		}
	}
	if len(invalid) > 0 {
		return fmt.Errorf("it listed an invalid id: %q", quote.Cut(invalid[0], maxText))
	}
	return err
}

// askCRI asks for CRI's lists. The first is nil if containerd has no CRI.
func askCRI(ctx context.Context, conn *grpc.ClientConn) ([]*cri.PodSandbox, []*cri.Container, error) {
	client := cri.NewRuntimeServiceClient(conn)
	pods, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if status.Code(err) == codes.Unimplemented {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list CRI's pods: %w", err)
	}
	containers, err := client.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return nil, nil, fmt.Errorf("list CRI's containers: %w", err)
	}
	return append([]*cri.PodSandbox{}, pods.Items...), containers.Containers, nil
}

// confirm asks for each task that is not in the list, but has objects on the node. The
// list leaves out a task if its shim does not respond, and such a shim is no leak. Only
// NotFound proves that containerd does not know the task.
func (a *asker) confirm(ctx context.Context) {
	want := map[Key]bool{}
	for k := range ownersOf(a.View) {
		if _, listed := a.Known.Tasks[k]; !listed && k.ID != "" && k.Namespace != "" {
			want[k] = true
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeoutsOfTasks*a.Timeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(asks)
	for k := range want {
		group.Go(func() error {
			t, err := a.get(ctx, k)
			a.mu.Lock()
			defer a.mu.Unlock()
			switch {
			case err != nil:
				a.Complete = false
				a.Notes = append(a.Notes, fmt.Sprintf("ask for task %s/%s: %s", k.Namespace, k.ID,
					quote.Cut(err.Error(), maxText)))
			case t.Status != "":
				a.Known.Tasks[k] = t
			}
			return nil
		})
	}
	_ = group.Wait() // no member fails
}

// get asks every containerd of the view for a task. The status is "" if none has the
// task.
func (a *asker) get(ctx context.Context, k Key) (inventory.Task, error) {
	t := inventory.Task{Namespace: k.Namespace, ID: k.ID}
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", k.Namespace)
	for i, conn := range a.conns {
		if !a.Daemons[i].Answered {
			continue
		}
		r, err := tasksapi.NewTasksClient(conn).Get(ctx, &tasksapi.GetRequest{ContainerID: k.ID})
		switch status.Code(err) {
		case codes.OK:
			t.PID, t.Status = int(r.GetProcess().GetPid()), r.GetProcess().GetStatus().String()
			return t, nil
		case codes.NotFound:
		case codes.DeadlineExceeded: // containerd's own timeout for the shim, of 2 s
			t.Status = NoAnswer
			return t, nil
		default:
			return t, err
		}
	}
	return t, nil
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
func (a *asker) begin(ctx context.Context, method string) (context.Context, context.CancelFunc, error) {
	if !slices.Contains(mayAsk, method) {
		return nil, nil, fmt.Errorf("%w: %s", errMayNotAsk, method)
	}
	a.at("containerd's answer")
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	return ctx, cancel, nil
}

// call is a grpc.UnaryClientInterceptor. The error is the context's own if the timeout
// is over: then containerd has not responded with DeadlineExceeded.
func (a *asker) call(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	ctx, cancel, err := a.begin(ctx, method)
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
func (a *asker) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	call grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel, err := a.begin(ctx, method)
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
