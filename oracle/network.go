package oracle

import (
	"path"
	"slices"
	"strings"
	"time"
)

// NetworkCall is a call of a CNI plugin that it has answered with success, as
// fixtures/cni/record notes it.
type NetworkCall struct {
	Command   string `json:"command"` // CNIAdd, CNIDel or CHECK
	Network   string `json:"network"`
	Interface string `json:"interface"`
	Container string `json:"container"` // the pod's sandbox
	Netns     string `json:"netns,omitempty"`
	// Gone reports of a DEL that no network namespace was there any more, or none was named.
	Gone    bool      `json:"gone,omitempty"`
	Address string    `json:"address,omitempty"`
	At      time.Time `json:"at"`
}

// The commands of CNI that make something and undo it.
const (
	CNIAdd = "ADD"
	CNIDel = "DEL"
)

// Same reports whether two calls are about the same interface of a pod: a DEL undoes the
// ADD that is.
func (c NetworkCall) Same(o NetworkCall) bool {
	return c.Network == o.Network && c.Interface == o.Interface && c.Container == o.Container
}

// added are the calls that have added what was not deleted any more.
func added(calls []NetworkCall) []NetworkCall {
	var open []NetworkCall
	for _, c := range calls {
		switch c.Command {
		case CNIDel:
			open = slices.DeleteFunc(open, c.Same)
		case CNIAdd:
			open = append(open, c)
		}
	}
	return open
}

// networks are those that a plugin has added and that nobody has deleted.
func (d diff) networks() (out []Finding) {
	itself := func(c NetworkCall) NetworkCall { return c }
	for _, c := range fresh(added(d.before.Networks), added(d.after.Networks), itself) {
		f := Finding{Invariant: Leak, Class: ClassNetwork, Subject: Subject{ID: c.Container, Path: mountedAt(c.Netns)}}
		f.Facts = d.task("", c.Container)
		f.Facts[FactNetwork], f.Facts[FactNetns] = c.Network, Gone
		if slices.ContainsFunc(d.after.Mounts, func(m Mount) bool { return m.Point == mountedAt(c.Netns) }) {
			f.Facts[FactNetns] = There
		}
		out = append(out, f)
	}
	return out
}

// mountedAt is where the mount table has a namespace: /var/run is a link to /run.
func mountedAt(netns string) string {
	if rest, ok := strings.CutPrefix(netns, "/var/run/"); ok {
		return "/run/" + rest
	}
	return netns
}

// podOf is the pod that a network namespace, or the result that libcni keeps of an ADD,
// is of, or "". Its name of a result is NETWORK-CONTAINER-INTERFACE.
func (d diff) podOf(file string) string {
	for _, c := range d.after.Networks {
		if file == mountedAt(c.Netns) || path.Base(file) == c.Network+"-"+c.Container+"-"+c.Interface {
			return c.Container
		}
	}
	return ""
}
