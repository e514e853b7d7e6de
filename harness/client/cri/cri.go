// Package cri is the client that uses CRI, as kubelet does. It runs a pod, polls the
// status of its containers until they have exited, and stops and removes the pod. It
// repeats failed calls.
package cri

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/exit"
)

// Client is one client with its pod.
type Client struct {
	*client.Session
	steps     script.Script
	instances []*harness.Instance
	sandbox   string // id; "" while none is known
	stopped   bool   // a step has stopped the sandbox
	logs      map[*harness.Instance]*slowLog
	// removedAgain is set once something could not be removed.
	removedAgain bool
	// late holds the late pods and containers, for all clients of the case.
	late *late
	// again is set for a client that uses the id again: its observations are not recorded.
	again bool
	// rounds holds the inventories of the script.
	rounds rounds

	mu sync.Mutex // of the fields below, which concurrent steps change
	// of are the current containers, by their place in the workload.
	of []*harness.Instance
	// over are the containers that the client has ended. refused are the containers that
	// containerd has refused to start. awaited are the ids of awaitStopped.
	over, refused map[*harness.Instance]bool
	awaited       map[string]bool
	// uses are the numbers of further containers in each place.
	uses map[int]int
	// attaches are the clients that have attached to a container. streams are the open
	// streams. taken is the number of bytes that were written to an input.
	attaches map[*harness.Instance][]*attached
	streams  map[script.Object]*input
	taken    map[*harness.Input]int
	// cancels are functions that give up a call in flight.
	cancels map[script.Object]func(context.Context)
}

// New makes the client of a case.
func New(s *client.Session) *Client {
	steps, _ := s.Case.Workload.Steps() // an error is a problem of the case
	c := newClient(s)
	c.steps = steps
	for n, spec := range s.Case.Workload.Containers {
		c.of = append(c.of, c.instance(n, fmt.Sprintf("c%d", n), spec))
	}
	c.instances = slices.Clone(c.of)
	return c
}

func newClient(s *client.Session) *Client {
	return &Client{Session: s, late: &late{}, over: map[*harness.Instance]bool{}, refused: map[*harness.Instance]bool{},
		awaited: map[string]bool{}, uses: map[int]int{},
		cancels: map[script.Object]func(context.Context){}, attaches: map[*harness.Instance][]*attached{},
		streams: map[script.Object]*input{}, taken: map[*harness.Input]int{}}
}

// instance returns a container in the n-th place of the workload.
func (c *Client) instance(n int, name string, spec harness.Container) *harness.Instance {
	of := script.Container(n)
	i := &harness.Instance{Name: name, Spec: spec, MustTell: []exit.Observer{exit.ByTaskExit}}
	if spec.Stdin > 0 {
		i.Input = &harness.Input{Open: !slices.ContainsFunc(c.steps, func(s script.Step) bool {
			return s.Verb == "close" && slices.ContainsFunc(s.Of, func(o script.Object) bool {
				return o.Container == n && o.Is(script.OnAttached)
			})
		})}
	}
	i.WithPod = (spec.Signal != "" || spec.Stays) && !c.steps.Has("end", of) && !c.steps.Has("stop", of) &&
		!c.steps.Has("remove", of) && !c.steps.Has("remove", script.ThePod)
	if i.WithPod || c.steps.Has("wait", of) {
		i.MustTell = append(i.MustTell, exit.ByCRIStatus)
	}
	return i
}

// Instances returns all containers of the pod, including removed ones.
func (c *Client) Instances() []*harness.Instance { return c.instances }

// Shares returns true: one shim serves all containers of a pod.
func (c *Client) Shares(string) bool { return true }

// learn records the pid of a container, which CRI does not report.
func (c *Client) learn(ctx context.Context, i *harness.Instance) {
	cl, _, err := c.Up(ctx)
	if err != nil {
		return
	}
	pid, err := client.PIDOf(ctx, cl, i.ID)
	if err != nil {
		return // it may have exited already
	}
	i.PID = uint32(pid)
	if i == c.instances[0] {
		c.Learn("task", i.ID, pid)
	}
}

// Run goes through the lifecycle and removes the pod. The removal has its own deadline,
// so a hung call cannot use up its time.
func (c *Client) Run(ctx context.Context) error {
	life, cancel := context.WithTimeout(ctx, c.Case.Workload.TimeLimit)
	defer cancel()
	c.play(life)
	ctx, cancel = context.WithTimeout(ctx, c.Case.Workload.TimeLimit)
	defer cancel()
	c.NoteGone(ctx, c.instances)
	err := client.Until(ctx, func(ctx context.Context) error {
		err := c.remove(ctx)
		c.removedAgain = c.removedAgain || err != nil
		return err
	})
	c.closeLogs()
	c.State(ctx, "deleted")
	return err
}

// runsOn reports whether a container runs until it is ended.
func (c *Client) runsOn(i *harness.Instance) bool { return i.Spec.Signal != "" || c.Case.Holds(i) }

// ids returns the id of the sandbox, if there is one, and the ids of containers.
func (c *Client) ids(of []*harness.Instance) (ids []string) {
	if c.sandbox != "" && !c.again && !c.stopped {
		ids = append(ids, c.sandbox)
	}
	return append(ids, client.IDs(of)...)
}

// call sends one call of the client to a running containerd.
func (c *Client) call(
	ctx context.Context,
	verb, of string,
	f func(context.Context, api.RuntimeServiceClient) error,
) error {
	return c.Call(ctx, verb, of, func(ctx context.Context) error {
		rt, err := c.rt(ctx)
		if err != nil {
			return err
		}
		return f(ctx, rt)
	})
}

// rt returns the service of a running containerd.
func (c *Client) rt(ctx context.Context) (api.RuntimeServiceClient, error) {
	_, conn, err := c.Up(ctx)
	if err != nil {
		return nil, err
	}
	return api.NewRuntimeServiceClient(conn), nil
}

// Reuse runs a pod of the same name, which must no longer be reserved, with one
// container. A brief run has no container, because only a reserved name can get in the
// way.
func (c *Client) Reuse(ctx context.Context, briefly bool) (harness.Use, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Case.Workload.TimeLimit)
	defer cancel()
	i := &harness.Instance{Name: c.instances[0].Name}
	second := c.another(i)
	err := second.runSandbox(ctx)
	if err == nil && !briefly {
		if err = errors.Join(second.create(ctx, i), second.start(ctx, i)); err == nil {
			second.end(ctx, i)
			second.wait(ctx, i)
			err = client.CheckReuse(i)
		}
	}
	return harness.Use{}, errors.Join(err, client.Until(ctx, second.remove))
}

// another returns a client of the same session, with containers of its own.
func (c *Client) another(all ...*harness.Instance) *Client {
	a := newClient(c.Session)
	a.instances, a.late, a.again = all, c.late, true
	return a
}
