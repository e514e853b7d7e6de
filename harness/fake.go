package harness

import "github.com/shimquake/shimquake/shims/fakeshim/behaviour"

// fakeshimEnv tells the fake shim how to misbehave, and which generation's bootstrap answer containerd expects.
func (x *experiment) fakeshimEnv() []string {
	return []string{behaviour.Env + "=" + x.fakeshimWords()}
}
