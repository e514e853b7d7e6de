// Package bootstrap starts a fake shim for containerd of any generation: it reads
// containerd's parameters, and writes the response.
package bootstrap

import (
	"encoding/json"
	"os"

	api "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"google.golang.org/protobuf/proto"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
)

// Generation is a form of the response to `start`.
type Generation string

// The generations, and the releases whose own shims respond so. containerd also accepts
// the older forms.
const (
	Address Generation = "address" // the address alone (1.6, 1.7; runtime/v2/shim)
	JSON    Generation = "json"    // {"version":2,"address":...,"protocol":"ttrpc"} (2.0 to 2.2; pkg/shim)
	Proto   Generation = "proto"   // BootstrapResult, after a BootstrapParams on stdin (2.3, 2.4)
)

// response is the response to `start`: BootstrapParams of pkg/shim in 2.0.
type response struct {
	Version  int    `json:"version"`
	Address  string `json:"address"`
	Protocol string `json:"protocol"`
}

// detect returns the generation that has started the shim. params is not nil if stdin has
// a BootstrapParams.
//
// Runtime options of older generations can also be parsed as a BootstrapParams, so id and
// namespace must be equal to the command line's. Without a BootstrapParams, 1.7 and 2.0
// to 2.2 cannot be told apart; both accept JSON with version 2.
func detect(stdin []byte, id, namespace string) (Generation, *api.BootstrapParams) {
	params := &api.BootstrapParams{}
	switch {
	case len(stdin) > 0 && proto.Unmarshal(stdin, params) == nil && params.InstanceID == id &&
		params.Namespace == namespace:
		return Proto, params
	case os.Getenv("MAX_SHIM_VERSION") != "":
		return JSON, nil
	}
	return Address, nil
}

// encode returns the response to `start` for a shim at address, in the form of g or of
// the misbehaviour.
func encode(g Generation, address, misbehaviour string) ([]byte, error) {
	a := response{Version: 3, Address: address, Protocol: "ttrpc"}
	if g == JSON {
		a.Version = 2
	}
	switch misbehaviour {
	case behaviour.Empty:
		return nil, nil
	case behaviour.Garbage:
		return []byte("\xff\x00 this is no response of a shim \xfe"), nil
	case behaviour.Old:
		g = Address
	case behaviour.Future:
		a.Version = 99
		if g == Address { // it has no version
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
