package bootstrap

import (
	"errors"
	"testing"

	api "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/shimquake/shimquake/must"
)

func TestDetect(t *testing.T) {
	marshal := func(m proto.Message) []byte {
		t.Helper()
		return must.Get(proto.Marshal(m))(t)
	}
	params := marshal(&api.BootstrapParams{InstanceID: "c1", Namespace: "n"})
	// containerd up to 2.2 writes this if a runtime has options; its first field is a
	// string, too.
	options := marshal(&anypb.Any{TypeUrl: "containerd.runc.v1.Options", Value: []byte("n")})
	for _, tc := range []struct {
		name       string
		stdin      []byte
		max        string // MAX_SHIM_VERSION
		want       Generation
		withParams bool
	}{
		{name: "1.6", want: Address},
		{name: "1.6 with options", stdin: options, want: Address},
		{name: "1.7 to 2.2", max: "2", want: JSON},
		{name: "1.7 to 2.2 with options", stdin: options, max: "2", want: JSON},
		{name: "2.3 and 2.4", stdin: params, max: "2", want: Proto, withParams: true},
		{name: "another's parameters", stdin: marshal(&api.BootstrapParams{InstanceID: "c2", Namespace: "n"}), max: "2",
			want: JSON},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("MAX_SHIM_VERSION", tc.max)
			got, reported := detect(tc.stdin, "c1", "n")
			if got != tc.want || (reported != nil) != tc.withParams {
				t.Errorf("detect = %q, %v; want %q, parameters: %v", got, reported, tc.want, tc.withParams)
			}
		})
	}
}

// The response of each generation has the same address.
func TestEncode(t *testing.T) {
	const address = "unix:///run/s"
	text, err := encode(Address, address, "")
	if err != nil || string(text) != address {
		t.Errorf("address: %q, %v", text, err)
	}
	text, err = encode(JSON, address, "")
	if want := `{"version":2,"address":"unix:///run/s","protocol":"ttrpc"}`; err != nil || string(text) != want {
		t.Errorf("json: %q, %v; want %q", text, err, want)
	}
	var answer api.BootstrapResult
	text, err = encode(Proto, address, "")
	if err := errors.Join(err, proto.Unmarshal(text, &answer)); err != nil || answer.Version != 3 ||
		answer.Address != address || answer.Protocol != "ttrpc" {
		t.Errorf("proto: %v, %v", &answer, err)
	}
}
