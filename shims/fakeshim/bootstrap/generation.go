// Package bootstrap is how a fake shim is started by containerd of any generation: what
// it is given, and what it answers.
package bootstrap

import (
	"encoding/json"
	"fmt"
	"os"

	api "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"google.golang.org/protobuf/proto"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
)

// Env is the environment variable that says which generation of containerd starts the
// shim, instead of finding out.
const Env = "SHIMQUAKE_BOOTSTRAP"

// Generation is a form of the answer to `start`.
type Generation string

// The generations, and the releases whose own shims answer so. containerd accepts the
// answers of older ones, too.
const (
	Address Generation = "address" // the address alone (1.6, 1.7; runtime/v2/shim)
	JSON    Generation = "json"    // {"version":3,"address":...,"protocol":"ttrpc"} (2.0 to 2.2; pkg/shim)
	Proto   Generation = "proto"   // BootstrapResult, after a BootstrapParams on stdin (2.3, 2.4)
)

// answer is what containerd learns of a shim: BootstrapParams of pkg/shim in 2.0.
type answer struct {
	Version  int    `json:"version"`
	Address  string `json:"address"`
	Protocol string `json:"protocol"`
}

// detect finds out which generation started the shim. params is not nil when there was a
// BootstrapParams on stdin.
//
// Runtime options of older generations can be read as a BootstrapParams too, so id and
// namespace must be those of the command line. Without one, 1.7 and 2.0 to 2.2 cannot be
// told apart; both accept JSON with version 2.
func detect(stdin []byte, id, namespace string) (g Generation, params *api.BootstrapParams, err error) {
	params = &api.BootstrapParams{}
	if len(stdin) == 0 || proto.Unmarshal(stdin, params) != nil || params.InstanceID != id ||
		params.Namespace != namespace {
		params = nil
	}
	switch g := Generation(os.Getenv(Env)); g {
	case Address, JSON, Proto:
		return g, params, nil
	case "":
	default:
		return "", nil, fmt.Errorf("$%s is %q; want %s, %s or %s", Env, g, Address, JSON, Proto)
	}
	switch {
	case params != nil:
		return Proto, params, nil
	case os.Getenv("MAX_SHIM_VERSION") != "":
		return json2, params, nil
	}
	return Address, params, nil
}

// json2 is JSON with version 2, which 1.7 accepts as well.
const json2 Generation = "json with version 2"

// encode is the answer to `start` for a shim at address, in the form of g, or as
// misbehaviour has it.
func encode(g Generation, address, misbehaviour string) ([]byte, error) {
	a := answer{Version: 3, Address: address, Protocol: "ttrpc"}
	if g == json2 {
		a.Version = 2
	}
	switch misbehaviour {
	case behaviour.Empty:
		return nil, nil
	case behaviour.Garbage:
		return []byte("\xff\x00 this is no answer of a shim \xfe"), nil
	case behaviour.Old:
		g = Address
	case behaviour.Future:
		a.Version = 99
		if g == Address { // which has no version
			g = JSON
		}
	case behaviour.Nowhere:
		a.Address += ".nowhere"
	}
	switch g {
	case Address:
		return []byte(a.Address), nil
	case Proto:
		return proto.Marshal(&api.BootstrapResult{Version: int32(a.Version), Address: a.Address, Protocol: a.Protocol})
	}
	return json.Marshal(a)
}
