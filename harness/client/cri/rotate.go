package cri

import (
	"context"
	"fmt"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
)

// rotatedLog is a log in a file that the client rotates, as kubelet does.
type rotatedLog struct {
	dir  *foreign.Dir
	name string
	// older has the names to which the client has renamed the log, and rotations when CRI
	// then opened the next log.
	older     []string
	rotations []harness.Rotation
}

// texts takes a missing file as empty.
func (l *rotatedLog) texts() (all []string) {
	for _, name := range append(slices.Clone(l.older), l.name) {
		text, _ := l.dir.Read(name, client.MaxOutput)
		all = append(all, string(text))
	}
	return all
}

func (l *rotatedLog) close() error { return nil }

// rotates reports whether the client rotates the log of a container. It may always rotate
// that of a bystander.
func (c *Client) rotates(i *harness.Instance) bool {
	of, _ := harness.ObjectNamed(i.Name)
	return c.Beside != nil || c.steps.Has("rotate", of)
}

// Rotate rotates the log of the first container.
func (c *Client) Rotate(ctx context.Context) error { return c.rotate(ctx, c.instances[0]) }

// rotate renames the log of a container, and asks CRI to open a new one. If CRI fails,
// the older log keeps its new name, because containerd may already have created the new
// log.
func (c *Client) rotate(ctx context.Context, i *harness.Instance) error {
	l, is := c.logs[i].(*rotatedLog)
	if !is {
		return nil // the container was not created
	}
	to := fmt.Sprintf("%s.%d", l.name, len(l.older))
	if err := l.dir.Rename(l.name, to); err != nil {
		return err // the log is not renamed, so containerd still writes to it
	}
	l.older = append(l.older, to)
	r := harness.Rotation{At: time.Now()}
	err := c.call(ctx, "ReopenContainerLog", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		_, err := rt.ReopenContainerLog(ctx, &api.ReopenContainerLogRequest{ContainerId: i.ID})
		return err
	})
	if err == nil {
		r.Answered = time.Now()
	}
	l.rotations = append(l.rotations, r)
	return err
}

// rotations returns the successful rotations of a log.
func rotations(of log) (all []harness.Rotation) {
	l, is := of.(*rotatedLog)
	if !is {
		return nil
	}
	texts := l.texts()
	for n, r := range l.rotations {
		if !r.Answered.IsZero() {
			r.Late = client.LogsAfter(r.Answered, texts[:n+1]...)
			all = append(all, r)
		}
	}
	return all
}
