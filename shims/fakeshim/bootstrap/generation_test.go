package bootstrap

import (
	"testing"

	api "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func TestDetect(t *testing.T) {
	marshal := func(m proto.Message) []byte {
		t.Helper()
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	params := marshal(&api.BootstrapParams{InstanceID: "c1", Namespace: "n"})
	// containerd up to 2.2 writes this if a runtime has options; its first field is a
	// string, too.
	options := marshal(&anypb.Any{TypeUrl: "containerd.runc.v1.Options", Value: []byte("n")})
	for _, tc := range []struct {
		name       string
		stdin      []byte
		max        string // MAX_SHIM_VERSION
		env        string
		want       Generation
		withParams bool
		bad        bool
	}{
		{name: "1.6", want: Address},
		{name: "1.6 with options", stdin: options, want: Address},
		{name: "1.7 to 2.2", max: "2", want: json2},
		{name: "1.7 to 2.2 with options", stdin: options, max: "2", want: json2},
		{name: "2.3 and 2.4", stdin: params, max: "2", want: Proto, withParams: true},
		{name: "another's parameters", stdin: marshal(&api.BootstrapParams{InstanceID: "c2", Namespace: "n"}), max: "2",
			want: json2},
		{name: "given", stdin: params, env: "json", want: JSON, withParams: true},
		{name: "given nonsense", env: "xml", bad: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(Env, tc.env)
			t.Setenv("MAX_SHIM_VERSION", tc.max)
			got, reported, err := detect(tc.stdin, "c1", "n")
			if got != tc.want || (err != nil) != tc.bad || !tc.bad && (reported != nil) != tc.withParams {
				t.Errorf("detect = %q, %v, %v; want %q, parameters: %v", got, reported, err, tc.want, tc.withParams)
			}
		})
	}
}
