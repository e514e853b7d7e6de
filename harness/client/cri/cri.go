// Package cri is the client that uses CRI, as kubelet does. It runs a pod, polls the
// status of its containers until they have exited, and then stops and removes the pod. It
// retries failed calls.
package cri

import (
	"context"
	"errors"
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
	logs      map[*harness.Instance]log
	// removedAgain is set if everything was removed, but not with the first attempt.
	removedAgain bool
	// late tells known pods and containers from objects that a timed-out call creates late.
	// All clients of the case share it.
	late *late
	// again is set for the client of the second use. Its observations are not recorded.
	again bool
	// rounds has the inventories that steps of the script take.
	rounds rounds

	mu sync.Mutex // of the fields below, which concurrent steps change
	// sandbox is the id of the sandbox, or "" before the response of RunPodSandbox. stopped
	// is set before a step stops it.
	sandbox string
	stopped bool
	// of has the current container for each index in the workload. Steps use this
	// container.
	of []*harness.Instance
	// over has the containers that the client has begun to end. refused has the
	// containers that containerd refused to start. awaited has the ids for which
	// awaitStopped was called.
	over, refused map[*harness.Instance]bool
	awaited       map[string]bool
	// uses counts, for each index in the workload, the additional containers.
	uses map[int]int
	// attaches has the clients that attached to a container. streams has the open streams.
	// taken is how many bytes were written to an input.
	attaches map[*harness.Instance][]*attached
	streams  map[script.Object]*input
	taken    map[*harness.Input]int
	// cancels has the functions that cancel a call in flight.
	cancels map[script.Object]func(context.Context)
}

// New makes the client of a case.
func New(s *client.Session) *Client {
	steps, _ := s.Case.Workload.Steps() // Case.Check reports the error
	c := newClient(s)
	c.steps = steps
	for n, spec := range s.Case.Workload.Containers {
		c.of = append(c.of, c.instance(n, s.Name(n), spec))
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

// instance returns a container for the n-th container of the workload.
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

// Instances returns all containers of the pod, including the removed ones.
func (c *Client) Instances() []*harness.Instance { return c.instances }

// Shares returns true, because one shim serves all containers of a pod.
func (c *Client) Shares(string) bool { return true }

// learn requests the pid of a container from containerd's task API, because CRI does not
// report it.
func (c *Client) learn(ctx context.Context, i *harness.Instance) {
	pid, err := c.PIDOf(ctx, i.ID)
	if err != nil {
		return // the container may have exited already
	}
	i.PID = uint32(pid)
	if i == c.instances[0] {
		c.NoteInit("task", i.ID, pid)
	}
}

// Run goes through the lifecycle, and then removes the pod. The removal has a deadline of
// its own, so that a call that hangs in the lifecycle leaves it enough time.
func (c *Client) Run(ctx context.Context) error {
	life, cancel := context.WithTimeout(ctx, c.Case.Workload.TimeLimit)
	defer cancel()
	c.play(life)
	ctx, cancel = context.WithTimeout(ctx, c.Case.Workload.TimeLimit)
	defer cancel()
	c.NoteGone(ctx, c.instances)
	attempts := 0
	err := client.Until(ctx, func(ctx context.Context) error {
		attempts++
		return c.remove(ctx)
	})
	c.removedAgain = err == nil && attempts > 1
	c.closeLogs()
	c.State(ctx, "deleted")
	return err
}

// runsOn reports whether a container runs until the client ends it.
func (c *Client) runsOn(i *harness.Instance) bool {
	return i.Spec.Signal != "" || c.KeepsRunning(i)
}

// sandboxID returns the id of the sandbox, or "" if there is none.
func (c *Client) sandboxID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sandbox
}

// readySandbox returns the id of the sandbox. It returns "" if there is none, or if a
// step has begun to stop it.
func (c *Client) readySandbox() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return ""
	}
	return c.sandbox
}

// ids returns the id of the ready sandbox, if there is one, and the ids of containers.
func (c *Client) ids(of []*harness.Instance) (ids []string) {
	if id := c.readySandbox(); id != "" && !c.again {
		ids = append(ids, id)
	}
	return append(ids, client.IDs(of)...)
}

// call makes one call of the client, after it has waited until containerd is up.
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

// rt waits until containerd is up, and returns its CRI service.
func (c *Client) rt(ctx context.Context) (api.RuntimeServiceClient, error) {
	_, conn, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return api.NewRuntimeServiceClient(conn), nil
}

// ask calls f with CRI's service, within CallTimeout. It does nothing if containerd is
// down, because the client's next call reports that.
func (c *Client) ask(ctx context.Context, f func(context.Context, api.RuntimeServiceClient)) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	if rt, err := c.rt(ctx); err == nil {
		f(ctx, rt)
	}
}

// Reuse runs a pod with the same name and one container. This fails if containerd still
// reserves the name. If briefly is true, the pod has no container, because only the name
// can be blocked.
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

// another returns a client for a second pod with these containers. It has the same
// session.
func (c *Client) another(all ...*harness.Instance) *Client {
	a := newClient(c.Session)
	a.instances, a.late, a.again = all, c.late, true
	return a
}
