package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	namespacesapi "github.com/containerd/containerd/api/services/namespaces/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	versionapi "github.com/containerd/containerd/api/services/version/v1"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/oracle/scan"
)

// mayAsk are the only methods that an audit calls: none of them changes anything. The
// connection refuses all others.
var mayAsk = []string{
	"/containerd.services.version.v1.Version/Version",
	"/containerd.services.namespaces.v1.Namespaces/List",
	"/containerd.services.containers.v1.Containers/ListStream",
	"/containerd.services.tasks.v1.Tasks/List",
	"/containerd.services.tasks.v1.Tasks/Get",
	"/containerd.services.sandbox.v1.Store/List",
	"/runtime.v1.RuntimeService/ListPodSandbox",
	"/runtime.v1.RuntimeService/ListContainers",
}

var errMayNotAsk = errors.New("an audit does not call this method")

// asker asks the containerds of a view.
type asker struct {
	tree      *scan.Tree
	timeout   time.Duration
	listening []scan.UnixSocket
	table     *processTable
	at        func(what string)  // as of processTable
	conns     []*grpc.ClientConn // by the index of View.Daemons; nil where there is none
}

func newKnown() Known {
	return Known{Containers: map[Key]Container{}, Tasks: map[Key]Task{}, Sandboxes: map[Key]bool{}}
}

// all asks every containerd, one after the other: their answers are one.
func (a *asker) all(ctx context.Context, v *View) {
	a.conns = make([]*grpc.ClientConn, len(v.Daemons))
	for i := range v.Daemons {
		d := &v.Daemons[i]
		if err := a.one(ctx, i, d, &v.Known); err != nil {
			d.Error = err.Error()
			continue
		}
		d.Answered = true
	}
	slices.Sort(v.Known.Namespaces)
	v.Known.Namespaces = slices.Compact(v.Known.Namespaces)
}

func (a *asker) one(ctx context.Context, i int, d *Daemon, known *Known) error {
	conn, err := a.connect(d)
	if err != nil {
		return err
	}
	a.conns[i] = conn
	var version *versionapi.VersionResponse
	err = a.within(ctx, func(ctx context.Context) (err error) {
		version, err = versionapi.NewVersionClient(conn).Version(ctx, &emptypb.Empty{})
		return err
	})
	if err != nil {
		return fmt.Errorf("it does not say its version: %w", err)
	}
	if v := release(version.Version); v != "" {
		d.Version = v
	}
	var all *namespacesapi.ListNamespacesResponse
	err = a.within(ctx, func(ctx context.Context) (err error) {
		all, err = namespacesapi.NewNamespacesClient(conn).List(ctx, &namespacesapi.ListNamespacesRequest{})
		return err
	})
	if err != nil {
		return fmt.Errorf("it does not list its namespaces: %w", err)
	}
	for _, ns := range all.Namespaces {
		known.Namespaces = append(known.Namespaces, ns.Name)
		if err := a.namespace(ctx, conn, ns.Name, known); err != nil {
			return fmt.Errorf("namespace %s: %w", ns.Name, err)
		}
	}
	return a.cri(ctx, conn, d, known)
}

// connect opens containerd's socket, and only that: its process must be the one that
// listens. The path is resolved inside the view's root, where a link could lead
// elsewhere.
func (a *asker) connect(d *Daemon) (*grpc.ClientConn, error) {
	address := strings.TrimPrefix(d.Address, "unix://")
	own := a.table.sockets(d.PID)
	if !slices.ContainsFunc(a.listening, func(s scan.UnixSocket) bool {
		return path.Base(s.Path) == path.Base(address) && slices.Contains(own, s.Inode)
	}) {
		return nil, fmt.Errorf("process %d does not listen on %s: it is starting, or its configuration was changed"+
			" since it was started", d.PID, d.Address)
	}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		f, err := a.tree.Open(address, unix.O_PATH)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // a name, and no file
		return (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	}
	return grpc.NewClient("passthrough:///containerd",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if !slices.Contains(mayAsk, method) {
				return fmt.Errorf("%w: %s", errMayNotAsk, method)
			}
			return call(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			call grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if !slices.Contains(mayAsk, method) {
				return nil, fmt.Errorf("%w: %s", errMayNotAsk, method)
			}
			return call(ctx, desc, cc, method, opts...)
		}))
}

// within asks one question.
func (a *asker) within(ctx context.Context, ask func(context.Context) error) error {
	a.at("containerd's answer")
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	return ask(ctx)
}

func withNamespace(ctx context.Context, ns string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "containerd-namespace", ns)
}

func (a *asker) namespace(ctx context.Context, conn *grpc.ClientConn, ns string, known *Known) error {
	ctx = withNamespace(ctx, ns)
	if err := a.within(ctx, func(ctx context.Context) error { return containers(ctx, conn, ns, known) }); err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	err := a.within(ctx, func(ctx context.Context) error {
		all, err := tasksapi.NewTasksClient(conn).List(ctx, &tasksapi.ListTasksRequest{})
		for _, t := range all.GetTasks() {
			// ContainerID is empty in List's answers: a task has its container's id.
			known.Tasks[Key{ns, t.ID}] = Task{int(t.Pid), t.Status.String()}
		}
		return err
	})
	// containerd asks each shim, for up to 2 s: where several do not answer, its list takes
	// longer than anybody waits. Then each task is asked for by itself (confirm).
	if err != nil && status.Code(err) != codes.DeadlineExceeded {
		return fmt.Errorf("list tasks: %w", err)
	}
	err = a.within(ctx, func(ctx context.Context) error {
		all, err := sandboxapi.NewStoreClient(conn).List(ctx, &sandboxapi.StoreListRequest{})
		for _, box := range all.GetList() {
			known.Sandboxes[Key{ns, box.SandboxID}] = true
		}
		return err
	})
	if err != nil && status.Code(err) != codes.Unimplemented { // before containerd 1.7
		return fmt.Errorf("list sandboxes: %w", err)
	}
	return nil
}

// criKind is the label of what CRI has made.
const criKind = "io.cri-containerd.kind"

func containers(ctx context.Context, conn *grpc.ClientConn, ns string, known *Known) error {
	stream, err := containersapi.NewContainersClient(conn).ListStream(ctx, &containersapi.ListContainersRequest{})
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c := m.Container
		known.Containers[Key{ns, c.ID}] = Container{
			Kind: c.Labels[criKind], NetNS: netnsPath(c.Spec.GetValue()),
			Age: time.Since(c.CreatedAt.AsTime()).Round(time.Second),
		}
	}
}

// netnsPath is the network namespace that a container's specification names. The rest of
// it, with the workload's environment and command line, is not kept.
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

// cri asks for CRI's view, where there is CRI.
func (a *asker) cri(ctx context.Context, conn *grpc.ClientConn, d *Daemon, known *Known) error {
	client := cri.NewRuntimeServiceClient(conn)
	pods := map[string]string{}
	err := a.within(ctx, func(ctx context.Context) error {
		all, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
		for _, p := range all.GetItems() {
			pods[p.Id] = p.State.String()
		}
		return err
	})
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list CRI's pods: %w", err)
	}
	inPods := map[string]string{}
	err = a.within(ctx, func(ctx context.Context) error {
		all, err := client.ListContainers(ctx, &cri.ListContainersRequest{})
		for _, c := range all.GetContainers() {
			inPods[c.Id] = c.State.String()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list CRI's containers: %w", err)
	}
	d.CRI = true
	if known.Pods == nil {
		known.Pods, known.CRIContainers = map[string]string{}, map[string]string{}
	}
	maps.Copy(known.Pods, pods)
	maps.Copy(known.CRIContainers, inPods)
	return nil
}

// asks is how many tasks are asked for at the same time.
const asks = 16

// confirm asks by name for each task that something on the node suggests and the list
// does not have. The list leaves out a task whose shim does not answer: that shim is no
// leak. "Not found" is the proof that containerd knows of none.
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
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(asks)
	found := make(chan struct {
		Key
		Task
		err error
	}, len(want))
	for k := range want {
		group.Go(func() error {
			t, err := a.get(ctx, v, k)
			found <- struct {
				Key
				Task
				err error
			}{k, t, err}
			return nil
		})
	}
	_ = group.Wait() // no member fails
	close(found)
	for f := range found {
		switch {
		case f.err != nil:
			v.Complete = false
			v.Notes = append(v.Notes, fmt.Sprintf("ask for task %s/%s: %v", f.Namespace, f.ID, f.err))
		case f.Status != "":
			v.Known.Tasks[f.Key] = f.Task
		}
	}
}

// get asks every containerd of the view for a task. A status of "" says that none has it.
func (a *asker) get(ctx context.Context, v *View, k Key) (Task, error) {
	for i, conn := range a.conns {
		if conn == nil || !v.Daemons[i].Answered {
			continue
		}
		var got Task
		late := false
		err := a.within(withNamespace(ctx, k.Namespace), func(ctx context.Context) error {
			r, err := tasksapi.NewTasksClient(conn).Get(ctx, &tasksapi.GetRequest{ContainerID: k.ID})
			got = Task{int(r.GetProcess().GetPid()), r.GetProcess().GetStatus().String()}
			late = ctx.Err() != nil
			return err
		})
		switch code := status.Code(err); {
		case code == codes.OK:
			return got, nil
		case code == codes.NotFound:
		case code == codes.DeadlineExceeded && !late: // containerd's own, of 2 s, for what the shim is asked
			return Task{Status: NoAnswer}, nil
		default:
			return Task{}, err
		}
	}
	return Task{}, nil
}

func (a *asker) close() {
	for _, c := range a.conns {
		if c != nil {
			_ = c.Close() // nothing was sent that could be lost
		}
	}
}
