package inventory

import "time"

// NetworkCall is a successful call of a CNI plugin, which fixtures/cni/record has
// recorded.
type NetworkCall struct {
	Command   string `json:"command"` // CNIAdd, CNIDel or CHECK
	Network   string `json:"network"`
	Interface string `json:"interface"`
	Container string `json:"container"` // the pod's sandbox
	Netns     string `json:"netns,omitempty"`
	// Gone marks a DEL without a network namespace: the namespace no longer existed, or
	// the call had none.
	Gone    bool      `json:"gone,omitempty"`
	Address string    `json:"address,omitempty"`
	At      time.Time `json:"at"`
}

// The commands of CNI that add an interface and remove it.
const (
	CNIAdd = "ADD"
	CNIDel = "DEL"
)

// Same reports whether two calls are for the same interface of a pod, so that the DEL
// undoes the ADD.
func (c NetworkCall) Same(o NetworkCall) bool {
	return c.Network == o.Network && c.Interface == o.Interface && c.Container == o.Container
}
