package inventory

import (
	"net"
	"path/filepath"
	"testing"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	contentapi "github.com/containerd/containerd/api/services/content/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/scan"
)

// endlessContainers lists containers without end, and endlessContent content.
type endlessContainers struct {
	containersapi.UnimplementedContainersServer
	spec int
}

type endlessContent struct {
	contentapi.UnimplementedContentServer
}

func (e endlessContainers) ListStream(
	_ *containersapi.ListContainersRequest, to containersapi.Containers_ListStreamServer,
) error {
	m := &containersapi.ListContainerMessage{Container: &containersapi.Container{
		ID: "x", Spec: &anypb.Any{TypeUrl: "x", Value: make([]byte, e.spec)}}}
	for {
		if err := to.Send(m); err != nil {
			return err
		}
	}
}

func (endlessContent) List(_ *contentapi.ListContentRequest, to contentapi.Content_ListServer) error {
	for {
		if err := to.Send(&contentapi.ListContentResponse{Info: []*contentapi.Info{{Digest: "sha256:0"}}}); err != nil {
			return err
		}
	}
}

// A containerd that lists without end costs no more memory than the limits.
func TestAListWithoutEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		spec int
		of   finding.Class
		says string
	}{
		"small containers": {0, finding.ClassContainer, "ListStream: containerd lists more than 100000 objects"},
		"large containers": {3 << 20, finding.ClassContainer, "or 64 MiB"},
		"content":          {0, finding.ClassMetadata, "Content/List: containerd lists more than 100000 objects"},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", socket)
			must.Succeed(t, err)
			server := grpc.NewServer()
			containersapi.RegisterContainersServer(server, endlessContainers{spec: tc.spec})
			contentapi.RegisterContentServer(server, endlessContent{})
			go func() { _ = server.Serve(l) }()
			conn := must.Get(grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithUnaryInterceptor(scan.BoundReply), grpc.WithStreamInterceptor(scan.BoundStream)))(t)
			t.Cleanup(func() { _ = conn.Close(); server.Stop() })
			c := must.Get(containerd.NewWithConn(conn))(t)
			_, err = askDaemon(t.Context(), Scene{Client: c, Namespaces: []string{"x"}}, parts{tc.of: true})
			must.FailWith(t, err, tc.says)
		})
	}
}
