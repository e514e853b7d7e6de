package task

import (
	"context"
	"time"

	tasktypes "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/poll"
)

const (
	// beatPatience is how long the heart of a payload may stand still while it runs, on a
	// machine that has other things to do.
	beatPatience = 2 * time.Second
	// stillFor is how long it is looked at while it is paused: it would beat 5 times.
	stillFor = 5 * payload.WriteEvery
)

// pause pauses a container and resumes it, unless it is to be killed so, and looks each
// time at what containerd calls it and whether its payload runs.
func (c *Client) pause(ctx context.Context, i *harness.Instance) {
	if !i.Spec.Pause || c.awaitBeat(ctx, i.Name, 0).IsZero() {
		return // it has never begun: that is said of it
	}
	p := &harness.Pause{Begun: time.Now(), Patience: beatPatience}
	i.Pause = p
	err := c.call(ctx, "pause", i, func(ctx context.Context, cl *containerd.Client) error {
		task, err := load(ctx, cl, i.ID)
		if err == nil {
			err = task.Pause(ctx)
		}
		return err
	})
	if err == nil {
		p.Paused, p.PausedAs = time.Now(), c.askStatus(ctx, i)
		before := c.Beats(i.Name)
		window := time.NewTimer(stillFor) // that nothing happens takes time to see
		defer window.Stop()
		select {
		case <-window.C:
		case <-ctx.Done():
		}
		p.Beats = c.Beats(i.Name) - before
	}
	if i.Spec.Signal == "SIGKILL" {
		return
	}
	asks := c.Case.Faultless() && !c.Quiet
	if asks && !p.Paused.IsZero() {
		p.Exec = c.execRefused(ctx, i)
	}
	c.resume(ctx, i, p)
	if asks && !p.Resumed.IsZero() {
		p.ExecAgain = c.execRefused(ctx, i)
	}
}

// execRefused tells why an exec is refused; nil: it is not.
func (c *Client) execRefused(ctx context.Context, i *harness.Instance) *callerr.Failed {
	e := harness.Exec{ID: harness.ExecOfPaused}
	c.tryExec(ctx, i, &e)
	return e.Refused
}

// resume resumes a container, again and again: it would else never end by itself.
func (c *Client) resume(ctx context.Context, i *harness.Instance, p *harness.Pause) {
	before := 0
	err := c.persist(ctx, func(ctx context.Context) error {
		before = c.Beats(i.Name)
		return gone(c.call(ctx, "resume", i, func(ctx context.Context, cl *containerd.Client) error {
			task, err := load(ctx, cl, i.ID)
			if err != nil {
				return err
			}
			if err = task.Resume(ctx); err == nil {
				p.Resumed = time.Now()
			} else if status, asked := task.Status(ctx); asked == nil && status.Status == containerd.Running {
				return nil // it was resumed before, or never paused
			}
			return err
		}))
	})
	if err == nil && !p.Resumed.IsZero() {
		p.Beat, p.ResumedAs = c.awaitBeat(ctx, i.Name, before), c.askStatus(ctx, i)
	}
}

// awaitBeat waits until the heart of a payload has beaten more often than that, by its
// record's name, and tells when that was seen; the zero time: not within beatPatience.
func (c *Client) awaitBeat(ctx context.Context, record string, than int) time.Time {
	ctx, cancel := context.WithTimeout(ctx, beatPatience)
	defer cancel()
	err := poll.Until(ctx, payload.WriteEvery, func() (bool, error) { return c.Beats(record) > than, nil })
	if err != nil {
		return time.Time{}
	}
	return time.Now()
}

// askStatus asks what containerd calls a task; "": it does not say. It is no call of the
// workload.
func (c *Client) askStatus(ctx context.Context, i *harness.Instance) (status string) {
	c.lookAt(ctx, i, "", func(p *tasktypes.Process) string {
		status = p.GetStatus().String()
		return status
	})
	return status
}
