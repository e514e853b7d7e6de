package task

import (
	"github.com/containerd/containerd/v2/pkg/cio"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
)

// reader reads what a container or an exec writes; nil: of one that is not to write.
type reader struct{ client.Reader }

// output is the reader of a container's exec, or of its init where exec is nil.
func (c *Client) output(i *harness.Instance, exec *harness.Exec) *reader {
	if i.Spec.Lines == 0 && i.Spec.Stdin == 0 && !i.Spec.TTY || exec != nil && exec.Held {
		return nil
	}
	r := &reader{client.Reader{Slow: i.Spec.Lines > 0, Stdin: i.Spec.Stdin > 0, Terminal: i.Spec.TTY}}
	if exec != nil {
		c.outputs[exec] = r
	} else {
		c.outputs[i] = r
	}
	return r
}

// io is where a container's output goes: nowhere, unless it is to write some.
func (c *Client) io(i *harness.Instance) cio.Creator {
	if r := c.output(i, nil); r != nil {
		return r.Create(c.FIFODir)
	}
	return cio.NullIO
}

// close is what was read when the end has come of it.
func (r *reader) close() *harness.Outputs {
	if r == nil {
		return nil
	}
	r.Close()
	all := r.Outputs()
	return &all
}
