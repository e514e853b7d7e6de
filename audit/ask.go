package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	namespacesapi "github.com/containerd/containerd/api/services/namespaces/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	versionapi "github.com/containerd/containerd/api/services/version/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/quote"
)

// asker asks the containerds of a view.
type asker struct {
	tree      *scan.Tree
	uid       int // the owner of the socket
	timeout   time.Duration
	listening []scan.UnixSocket
	table     *processTable
	at        func(what string)  // notes the next step, for the report of a read that hangs
	conns     []*grpc.ClientConn // by the index in View.Daemons; nil without a connection
}

func newKnown() Known {
	return Known{Containers: map[Key]Container{}, Tasks: map[Key]Task{}, Sandboxes: map[Key]bool{}}
}

// all asks the containerds of the view concurrently, so that a slow containerd does not
// block the others. It merges their responses.
func (a *asker) all(ctx context.Context, v *View) {
	ctx, cancel := context.WithDeadline(ctx, part(ctx, timeoutsOfLists*a.timeout))
	defer cancel()
	a.conns = make([]*grpc.ClientConn, len(v.Daemons))
	answers := make([]Known, len(v.Daemons))
	var group errgroup.Group
	group.SetLimit(asks)
	for i := range v.Daemons {
		group.Go(func() error {
			answers[i] = newKnown()
			d := &v.Daemons[i]
			if err := a.one(ctx, i, d, &answers[i]); err != nil {
				d.Error = quote.Cut(err.Error(), maxText)
			} else {
				d.Answered = true
			}
			return nil
		})
	}
	_ = group.Wait() // no member fails
	for _, k := range answers {
		v.Known.add(k)
	}
	slices.Sort(v.Known.Namespaces)
	v.Known.Namespaces = slices.Compact(v.Known.Namespaces)
}

func (k *Known) add(more Known) {
	k.Namespaces = append(k.Namespaces, more.Namespaces...)
	maps.Copy(k.Containers, more.Containers)
	maps.Copy(k.Tasks, more.Tasks)
	maps.Copy(k.Sandboxes, more.Sandboxes)
	if more.Pods != nil && k.Pods == nil {
		k.Pods, k.CRIContainers = map[string]string{}, map[string]string{}
	}
	maps.Copy(k.Pods, more.Pods)
	maps.Copy(k.CRIContainers, more.CRIContainers)
}

// one asks a containerd. It limits the lengths of the lists, because a broken containerd
// may list anything.
func (a *asker) one(ctx context.Context, i int, d *Daemon, known *Known) error {
	conn, err := a.connect(d)
	if err != nil {
		return err
	}
	a.conns[i] = conn
	version, err := ask(ctx, a, versionapi.NewVersionClient(conn).Version, &emptypb.Empty{})
	if err != nil {
		return fmt.Errorf("it did not return its version: %w", err)
	}
	if v := release(version.Version); v != "" {
		d.Version = v
	}
	all, err := ask(ctx, a, namespacesapi.NewNamespacesClient(conn).List, &namespacesapi.ListNamespacesRequest{})
	if err != nil {
		return fmt.Errorf("it did not list its namespaces: %w", err)
	}
	if n := len(all.Namespaces); n > maxNamespaces {
		return fmt.Errorf("it lists %d namespaces, and the limit is %d", n, maxNamespaces)
	}
	for _, ns := range all.Namespaces {
		if !isName(ns.Name) {
			return fmt.Errorf("it listed an invalid namespace: %q", quote.Cut(ns.Name, maxText))
		}
		known.Namespaces = append(known.Namespaces, ns.Name)
		if err := a.namespace(ctx, conn, ns.Name, known); err != nil {
			return fmt.Errorf("namespace %s: %w", ns.Name, err)
		}
	}
	return a.cri(ctx, conn, d, known)
}

// maxNamespaces limits the namespaces of one containerd. Nodes have a few.
const maxNamespaces = 1000

// check returns an error if an id is invalid, or if a containerd lists too many objects.
// The error names the kind of the listed objects, what.
func (k *Known) check(what, id string) error {
	if !isName(id) {
		return fmt.Errorf("list %s: it listed an invalid id: %q", what, quote.Cut(id, maxText))
	}
	if len(k.Containers)+len(k.Tasks)+len(k.Sandboxes)+len(k.Pods)+len(k.CRIContainers) >= scan.MaxListed {
		return fmt.Errorf("list %s: it lists more than %d containers, tasks and pods", what, scan.MaxListed)
	}
	return nil
}

// within returns a context for one call, with the timeout.
func (a *asker) within(ctx context.Context) (context.Context, context.CancelFunc) {
	a.at("containerd's answer")
	return context.WithTimeout(ctx, a.timeout)
}

// ask makes one call with the timeout.
func ask[Request, Response any](
	ctx context.Context,
	a *asker,
	call func(context.Context, Request, ...grpc.CallOption) (Response, error),
	request Request,
) (Response, error) {
	ctx, cancel := a.within(ctx)
	defer cancel()
	return call(ctx, request)
}

func withNamespace(ctx context.Context, ns string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "containerd-namespace", ns)
}

func (a *asker) namespace(ctx context.Context, conn *grpc.ClientConn, ns string, known *Known) error {
	ctx = withNamespace(ctx, ns)
	if err := a.containers(ctx, conn, ns, known); err != nil {
		return err
	}
	tasks, err := ask(ctx, a, tasksapi.NewTasksClient(conn).List, &tasksapi.ListTasksRequest{})
	// For the list, containerd asks each shim for up to 2 s. If several shims do not
	// respond, the list takes longer than the timeout. Then confirm asks for each task
	// separately.
	if err != nil && status.Code(err) != codes.DeadlineExceeded {
		return fmt.Errorf("list tasks: %w", err)
	}
	for _, t := range tasks.GetTasks() {
		if err := known.check("tasks", t.ID); err != nil {
			return err
		}
		// ContainerID is empty in List's responses: a task has its container's id.
		known.Tasks[Key{ns, t.ID}] = Task{int(t.Pid), t.Status.String()}
	}
	sandboxes, err := ask(ctx, a, sandboxapi.NewStoreClient(conn).List, &sandboxapi.StoreListRequest{})
	if err != nil && status.Code(err) != codes.Unimplemented { // before containerd 1.7
		return fmt.Errorf("list sandboxes: %w", err)
	}
	for _, box := range sandboxes.GetList() {
		if err := known.check("sandboxes", box.SandboxID); err != nil {
			return err
		}
		known.Sandboxes[Key{ns, box.SandboxID}] = true
	}
	return nil
}

// criKind is the label of CRI's containers.
const criKind = "io.cri-containerd.kind"

func (a *asker) containers(ctx context.Context, conn *grpc.ClientConn, ns string, known *Known) error {
	ctx, cancel := a.within(ctx)
	defer cancel()
	stream, err := containersapi.NewContainersClient(conn).ListStream(ctx, &containersapi.ListContainersRequest{})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list containers: %w", err)
		}
		c := m.Container
		if err := known.check("containers", c.ID); err != nil {
			return err
		}
		kind := c.Labels[criKind]
		if kind != "" && !isName(kind) {
			return fmt.Errorf("list containers: it reports an invalid kind of %s: %q", c.ID, quote.Cut(kind, maxText))
		}
		known.Containers[Key{ns, c.ID}] = Container{
			Kind: kind, NetNS: netnsPath(c.Spec.GetValue()),
			Age: time.Since(c.CreatedAt.AsTime()).Round(time.Second),
		}
	}
}

// netnsPath returns the path of the network namespace in a container's specification. The
// audit does not keep the rest, which has the workload's environment and command line.
func netnsPath(spec []byte) string {
	var s struct {
		Linux struct {
			Namespaces []struct{ Type, Path string }
		}
	}
	if json.Unmarshal(spec, &s) != nil {
		return ""
	}
	for _, n := range s.Linux.Namespaces {
		if n.Type == "network" {
			return n.Path
		}
	}
	return ""
}

// cri asks for CRI's lists, if containerd has CRI.
func (a *asker) cri(ctx context.Context, conn *grpc.ClientConn, d *Daemon, known *Known) error {
	client := cri.NewRuntimeServiceClient(conn)
	pods, err := ask(ctx, a, client.ListPodSandbox, &cri.ListPodSandboxRequest{})
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list CRI's pods: %w", err)
	}
	known.Pods, known.CRIContainers = map[string]string{}, map[string]string{}
	for _, p := range pods.Items {
		if err := known.check("CRI's pods", p.Id); err != nil {
			return err
		}
		known.Pods[p.Id] = p.State.String()
	}
	containers, err := ask(ctx, a, client.ListContainers, &cri.ListContainersRequest{})
	if err != nil {
		return fmt.Errorf("list CRI's containers: %w", err)
	}
	for _, c := range containers.Containers {
		if err := known.check("CRI's containers", c.Id); err != nil {
			return err
		}
		known.CRIContainers[c.Id] = c.State.String()
	}
	d.CRI = true
	return nil
}

// asks is the maximum number of concurrent calls for tasks.
const asks = 16

// confirm asks for each task that is not in the list, but has objects on the node. The
// list leaves out a task if its shim does not respond, and such a shim is no leak. Only
// NotFound proves that containerd does not know the task.
func (a *asker) confirm(ctx context.Context, v *View) {
	want := map[Key]bool{}
	add := func(k Key) {
		if _, listed := v.Known.Tasks[k]; !listed && k.ID != "" && k.Namespace != "" {
			want[k] = true
		}
	}
	for _, p := range v.Processes {
		if p.Shim != nil {
			add(Key{p.Shim.Namespace, p.Shim.ID})
		}
	}
	for _, b := range v.Bundles {
		add(Key{b.Namespace, b.ID})
	}
	for _, s := range v.RuncStates {
		add(Key{s.Namespace, s.ID})
	}
	ctx, cancel := context.WithTimeout(ctx, timeoutsOfTasks*a.timeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(asks)
	var mu sync.Mutex // of the view
	for k := range want {
		group.Go(func() error {
			t, err := a.get(ctx, v, k)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				v.Complete = false
				v.Notes = append(v.Notes, fmt.Sprintf("ask for task %s/%s: %s", k.Namespace, k.ID,
					quote.Cut(err.Error(), maxText)))
			case t.Status != "":
				v.Known.Tasks[k] = t
			}
			return nil
		})
	}
	_ = group.Wait() // no member fails
}

// get asks every containerd of the view for a task. The status is "" if none has the
// task.
func (a *asker) get(ctx context.Context, v *View, k Key) (Task, error) {
	for i, conn := range a.conns {
		if conn == nil || !v.Daemons[i].Answered {
			continue
		}
		limited, cancel := a.within(withNamespace(ctx, k.Namespace))
		r, err := tasksapi.NewTasksClient(conn).Get(limited, &tasksapi.GetRequest{ContainerID: k.ID})
		late := limited.Err() != nil
		cancel()
		switch code := status.Code(err); {
		case code == codes.OK:
			return Task{int(r.GetProcess().GetPid()), r.GetProcess().GetStatus().String()}, nil
		case code == codes.NotFound:
		case code == codes.DeadlineExceeded && !late: // containerd's own timeout for the shim, of 2 s
			return Task{Status: NoAnswer}, nil
		default:
			return Task{}, err
		}
	}
	return Task{}, nil
}
