package task

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/runtime/restart"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/poll"
)

const (
	monitoredID = "monitored"
	// monitorPatience is less than the interval that the monitor has by default: one that
	// does not heed its configuration comes too late.
	monitorPatience = 8 * time.Second
	// lookAfter is how long the monitor has nothing to do: it looks twice meanwhile.
	lookAfter = 5 * harness.MonitorInterval / 2
	lookEvery = 10 * time.Millisecond
)

// monitored has a container that the restart monitor is to keep running, in a case in
// which nothing is broken.
type monitored struct {
	*Client
	i    *harness.Instance
	told *harness.Monitored
}

// monitor makes such a container, does to it what is done to containers, and removes it.
func (c *Client) monitor(ctx context.Context) {
	if !c.Case.Workload.Monitored || c.Quiet || !c.Case.Faultless() {
		return
	}
	m := &monitored{c,
		&harness.Instance{Name: monitoredID, ID: monitoredID, Spec: harness.Container{Signal: "SIGKILL"}},
		&harness.Monitored{ID: monitoredID, Interval: harness.MonitorInterval, Patience: monitorPatience}}
	if c.create(ctx, m.i, c.Runtime) == nil && c.start(ctx, m.i) == nil {
		m.through(ctx)
	}
	c.Record.Failed("client", "gave up removing "+monitoredID, c.remove(ctx, m.i))
	c.Record.Set(func(h *harness.History) { h.Monitored = m.told })
}

// through goes through all that is done. A call that fails is for others to judge.
func (m *monitored) through(ctx context.Context) {
	const always, once = "always", "on-failure:1"
	limits := m.limits(ctx)
	label := func(labels map[string]string) func(context.Context, *containerd.Client) error {
		return func(ctx context.Context, cl *containerd.Client) error {
			made, err := cl.LoadContainer(ctx, m.i.ID)
			if err != nil {
				return err
			}
			return made.Update(ctx, containerd.UpdateContainerOpts(containerd.WithAdditionalContainerLabels(labels)))
		}
	}
	onTask := func(f func(containerd.Task, context.Context) error) func(context.Context, *containerd.Client) error {
		return func(ctx context.Context, cl *containerd.Client) error {
			task, err := load(ctx, cl, m.i.ID)
			if err != nil {
				return err
			}
			return f(task, ctx)
		}
	}
	kill := onTask(func(t containerd.Task, ctx context.Context) error { return t.Kill(ctx, unix.SIGKILL) })
	killMore := func(ctx context.Context, cl *containerd.Client) error { // it was started anew once
		if err := label(map[string]string{restart.PolicyLabel: once})(ctx, cl); err != nil {
			return err
		}
		return kill(ctx, cl)
	}
	run := map[string]string{restart.StatusLabel: string(containerd.Running), restart.PolicyLabel: always}
	if m.of(ctx, "label", m.i.ID, label(run)) != nil {
		return
	}
	for _, s := range []struct {
		done  harness.Done
		verb  string
		f     func(context.Context, *containerd.Client) error
		until func(harness.Watched) bool // nil: the monitor has nothing to do
	}{
		{harness.DonePause, "pause", onTask(containerd.Task.Pause), nil},
		{harness.DoneResume, "resume", onTask(containerd.Task.Resume), nil},
		{harness.DoneKill, "kill", kill, anew},
		{harness.DoneKillMore, "kill", killMore, nil},
		{harness.DoneAllow, "label", label(run), anew},
		{harness.DoneStop, "label", label(map[string]string{restart.StatusLabel: string(containerd.Stopped)}),
			func(w harness.Watched) bool { return w.Err == nil && w.As == "" }},
	} {
		if !limits && (s.done == harness.DoneKillMore || s.done == harness.DoneAllow) {
			continue
		}
		w := harness.Watched{Done: s.done}
		m.look(ctx, &w)
		if s.done == harness.DoneResume && w.As != taskPaused {
			continue // the monitor has started it anew, as it does before v2.0
		}
		w.Before, w.At = w.PID, time.Now()
		if m.of(ctx, s.verb, m.i.ID, s.f) != nil {
			return
		}
		m.watch(ctx, w, s.until)
	}
}

// anew reports whether another task runs than before.
func anew(w harness.Watched) bool { return w.As == taskRunning && w.PID != w.Before }

const (
	taskRunning = "RUNNING"
	taskPaused  = "PAUSED"
)

// watch waits until the monitor has done what it is to do, and whether it stays so.
func (m *monitored) watch(ctx context.Context, w harness.Watched, until func(harness.Watched) bool) {
	if until != nil {
		patience, cancel := context.WithTimeout(ctx, m.told.Patience)
		defer cancel()
		err := poll.Until(patience, lookEvery, func() (bool, error) {
			m.look(patience, &w)
			return until(w), nil
		})
		if err == nil { // that it has not is the judge's business
			w.Reached = time.Now()
		}
	}
	window := time.NewTimer(lookAfter) // that nothing happens takes time to see
	defer window.Stop()
	select {
	case <-window.C:
	case <-ctx.Done():
	}
	m.look(ctx, &w)
	if there := m.Look(nil).Inventory; there != nil {
		w.Shims = []int{}
		for _, p := range there.Processes {
			if p.Shim != nil && p.Shim.ID == m.i.ID {
				w.Shims = append(w.Shims, p.PID)
			}
		}
	}
	m.told.Watched = append(m.told.Watched, w)
}

// look asks for the state of its task: no call of the workload.
func (m *monitored) look(ctx context.Context, w *harness.Watched) {
	w.PID, w.As, w.Err = 0, "", nil
	cl, _, err := m.Up(ctx)
	var r *tasks.GetResponse
	if err == nil {
		r, err = cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: m.i.ID})
	}
	switch {
	case err == nil:
		w.PID, w.As = r.GetProcess().GetPid(), r.GetProcess().GetStatus().String()
	case !errdefs.IsNotFound(errgrpc.ToNative(err)):
		w.Err = oracle.FailedOf(err)
	}
}

// limits reports whether the monitor knows policies, which came with v1.7.0.
func (m *monitored) limits(ctx context.Context) (limits bool) {
	_ = m.of(ctx, "plugins", m.i.ID, func(ctx context.Context, cl *containerd.Client) error {
		all, err := cl.IntrospectionService().Plugins(ctx, "id==restart")
		if err != nil {
			return err
		}
		for _, p := range all.GetPlugins() {
			limits = limits || slices.Contains(p.GetCapabilities(), "on-failure")
		}
		return nil
	})
	return limits
}

// of is a call that is about something else than a container.
func (c *Client) of(ctx context.Context, verb, id string, f func(context.Context, *containerd.Client) error) error {
	return c.call(ctx, verb, &harness.Instance{ID: id}, f)
}
