package inventory

import "time"

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
