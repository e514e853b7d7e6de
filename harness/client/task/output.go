package task

import (
	"github.com/containerd/containerd/v2/pkg/cio"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
)

// reader reads the output of a container or an exec. A nil reader stands for a process
// without output.
type reader struct {
	client.Reader
	log *client.ShimLog // if not nil, the shim writes here, and there are no FIFOs
}

// create returns a function that creates the FIFOs or the log.
func (r *reader) create(fifos *foreign.Dir) cio.Creator {
	if r.log != nil {
		return r.log.Create
	}
	return r.Create(fifos)
}

// output returns a new reader for an exec of a container, or for the container's init if
// exec is nil. It returns nil if the process has no output.
func (c *Client) output(i *harness.Instance, exec *harness.Exec) *reader {
	silent := c.Beside == nil && i.Spec.Lines == 0 && i.Spec.Stdin == 0 && !i.Spec.TTY
	if exec != nil && (exec.Held || silent && !exec.LeavesChild) || exec == nil && silent {
		return nil
	}
	r := &reader{Reader: client.Reader{Slow: i.Spec.Lines > 0 && !i.Spec.Unread, Unread: i.Spec.Unread,
		Stdin: i.Spec.Stdin > 0, Terminal: i.Spec.TTY}}
	record := i.Name
	if exec != nil {
		record = i.Record(*exec)
	}
	if i.Spec.Log != "" {
		r.log = &client.ShimLog{To: i.Spec.Log, Dir: c.Truth, Name: record + "-log", Logger: c.Logger}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if exec != nil {
		c.outputs[exec] = r
	} else {
		c.outputs[i] = r
	}
	return r
}

// closeOutputs records the outputs and inputs of a container and of its execs, after they
// have ended.
func (c *Client) closeOutputs(i *harness.Instance) {
	i.Outputs = c.outputs[i].close()
	c.learnInput(i.Input, i.Name)
	for n := range i.Execs {
		e := &i.Execs[n]
		e.Outputs = c.outputs[e].close()
		c.learnInput(e.Input, i.Record(*e))
	}
}

// io returns the target of a container's output, which is /dev/null for a container
// without output.
func (c *Client) io(i *harness.Instance) cio.Creator {
	if r := c.output(i, nil); r != nil {
		return r.create(c.FIFOs)
	}
	return cio.NullIO
}

// close waits for the end of the output, and returns the output.
func (r *reader) close() *harness.Outputs {
	if r == nil {
		return nil
	}
	if r.log != nil {
		all := r.log.Outputs()
		return &all
	}
	r.Close()
	all := r.Outputs()
	return &all
}
