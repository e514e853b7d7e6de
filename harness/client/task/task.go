// Package task is the client that uses containerd's own API (the tasks service and the Go
// library), as dockerd does.
package task

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/pkg/namespaces"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/play"
	"github.com/shimquake/shimquake/harness/script"
)

// Client is one client with its workload.
type Client struct {
	*client.Session
	steps     script.Script
	runtime   string
	instances []*harness.Instance
	// again is set for the client of the second use of the first id, which is not part of
	// the workload.
	again bool

	mu sync.Mutex // for the fields that concurrent steps change
	// of has the current container of each place in the workload: the latest one with that
	// id.
	of []*harness.Instance
	// This map has the containers for which the client must send a failed Delete again.
	undeleted map[*harness.Instance]bool
	// outputs has the readers of outputs. A key is a *harness.Instance or a *harness.Exec.
	outputs map[any]*reader
	// pidReuses has the functions that end the idle processes of `reuse-pid` steps.
	pidReuses map[script.Object]func(context.Context)
}

// New makes the client of a case.
func New(s *client.Session) *Client {
	c := newClient(s, s.Runtime)
	c.steps, _ = s.Case.Workload.Steps() // Case.Check reports the error
	for n, spec := range s.Case.Workload.Containers {
		name := s.Name(n)
		c.of = append(c.of, &harness.Instance{Name: name, ID: name, Spec: spec})
	}
	if s.Beside != nil {
		c.of[0].ID = s.Beside.ID
	}
	c.instances = slices.Clone(c.of)
	return c
}

func newClient(s *client.Session, runtime string) *Client {
	return &Client{Session: s, runtime: runtime, undeleted: map[*harness.Instance]bool{}, outputs: map[any]*reader{},
		pidReuses: map[script.Object]func(context.Context){}}
}

// Instances returns all containers of the workload.
func (c *Client) Instances() []*harness.Instance { return c.instances }

// Shares reports whether the shim with this id serves all containers.
func (c *Client) Shares(shim string) bool {
	return c.Case.Workload.Grouped && shim == c.instances[0].ID
}

// Run runs the script, and then removes everything. The removal has a deadline of its
// own, so that a call that hangs in the script leaves it enough time.
func (c *Client) Run(ctx context.Context) error {
	life, cancel := context.WithTimeout(namespaces.WithNamespace(ctx, c.Namespace), c.Case.Workload.TimeLimit)
	defer cancel()
	p := play.Player{Session: c.Session, Script: c.steps, Verbs: c.verbs()}
	if c.queries() {
		p.Query = c.query
	}
	p.Play(life)
	ctx, cancel = context.WithTimeout(namespaces.WithNamespace(ctx, c.Namespace), c.Case.Workload.TimeLimit)
	defer cancel()
	for of := range c.pidReuses {
		c.endPIDReuse(ctx, of)
	}
	c.NoteGone(ctx, c.instances)
	var errs []error
	for _, i := range slices.Backward(c.instances) {
		if !c.isUsedAgain(i) { // the last container with the id is removed instead
			errs = append(errs, c.remove(ctx, i))
		}
		c.closeOutputs(i)
	}
	c.State(ctx, "deleted")
	return errors.Join(errs...)
}

// isUsedAgain reports whether a later container has the same id.
func (c *Client) isUsedAgain(i *harness.Instance) bool {
	last := i
	for _, other := range c.instances {
		if other.ID == i.ID {
			last = other
		}
	}
	return last != i
}

// Reuse uses the first id for a whole lifecycle without faults. OtherRuntime is usually
// the fake shim, which is faster than runc's. That is enough: metadata, a snapshot, a
// bundle or a socket would block the id for any shim. The inventory already shows remains
// that would block runc: its state and its cgroup. With briefly, Reuse only creates and
// deletes the container and the snapshot.
func (c *Client) Reuse(ctx context.Context, briefly bool) (harness.Use, error) {
	ctx, cancel := context.WithTimeout(namespaces.WithNamespace(ctx, c.Namespace), c.Case.Workload.TimeLimit)
	defer cancel()
	i := &harness.Instance{Name: c.instances[0].Name, ID: c.instances[0].ID}
	second, of := newClient(c.Session, c.OtherRuntime), script.Container(0)
	second.again, second.of, second.instances = true, []*harness.Instance{i}, []*harness.Instance{i}
	if briefly {
		return harness.Use{}, errors.Join(second.record(ctx, of, ""), second.remove(ctx, i))
	}
	use := harness.Use{ID: i.ID, Want: i.Spec.Want(), From: time.Now()}
	err := errors.Join(second.create(ctx, of, ""), second.start(ctx, of, ""))
	if err == nil {
		_ = second.end(ctx, of, "")  // CheckReuse reports
		_ = second.wait(ctx, of, "") // a failure
		err = client.CheckReuse(i)
	}
	use.PID = i.PID
	return use, errors.Join(err, second.remove(ctx, i))
}
