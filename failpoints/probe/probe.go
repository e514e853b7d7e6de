// Package probe is linked into each process under test. It reports every point that the
// process reaches to a controller, and takes the action that the controller decides.
//
// Three callers use it. Package weave puts calls of Serve and Call into the ttrpc module
// of a release, around each ttrpc method of its daemon and its shim. It also puts At,
// AtCtx, Fn and Request into the code of the lifecycle itself. shims/fakeshim calls
// Serve.
//
// The environment decides what a process does:
//
//	SHIMQUAKE_SOCKET      a unix socket of a failpoints.Controller: it decides every hit
//	SHIMQUAKE_FAILPOINTS  point=term;point=term: without a socket the process decides by itself
//
// A shim also reads the annotations "shimquake.failpoint/POINT: TERM" of the bundle that
// it is started in. With neither, a probe costs one atomic load.
//
// The package uses the standard library only, because it is compiled with the
// dependencies of each release.
package probe

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

const (
	// SocketEnv names the controller's unix socket.
	SocketEnv = "SHIMQUAKE_SOCKET"
	// FailpointsEnv holds faults for a process without a controller.
	FailpointsEnv = "SHIMQUAKE_FAILPOINTS"
	// AnnotationPrefix begins the OCI annotations that arm a shim.
	AnnotationPrefix = "shimquake.failpoint/"
)

// decider decides hits: a controller behind a socket, or the terms in the environment.
type decider interface {
	// seen reports a hit that is not armed. It does not wait.
	seen(Hit)
	// ask returns the decision for an armed hit. It waits for the decision.
	ask(Hit) Decision
	armed(point string) bool
	// begin is called once this decider decides the process's hits.
	begin()
}

var current atomic.Pointer[decider]

func init() {
	role := "containerd"
	if strings.Contains(filepath.Base(os.Args[0]), "containerd-shim") {
		role = "shim"
	}
	self = role
	if d := connect(role); d != nil {
		current.Store(&d)
		d.begin()
	}
}

// self is "containerd" or "shim": the process in the names of this process's points.
var self string

func connect(role string) decider {
	terms := fromEnvironment()
	if role == "shim" {
		for p, t := range fromBundle("config.json") {
			terms[p] = t
		}
	}
	if path := os.Getenv(SocketEnv); path != "" {
		if l, err := dial(path, role, terms); err == nil {
			return l
		}
		// The controller has gone: the run is over, and this process is about to end with
		// its world.
		return nil
	}
	if len(terms) == 0 {
		return nil
	}
	return newLocal(terms)
}
