// Program containerd-shim-fakeshim-v1 is a shim without containers. It serves containerd
// 1.6 to 2.4, is fast, and misbehaves on demand. See package fakeshim.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/containerd/containerd/api/types"
	"google.golang.org/protobuf/proto"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/bootstrap"
	"github.com/shimquake/shimquake/shims/fakeshim/daemon"
	"github.com/shimquake/shimquake/shims/fakeshim/process"
)

// name is the runtime's name in containerd.
const name = "io.containerd.fakeshim.v1"

func main() {
	process.Main()
	if err := run(); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run() error {
	p := bootstrap.Params{Stdin: os.Stdin, Stdout: os.Stdout}
	flag.StringVar(&p.Namespace, "namespace", "", "namespace that owns the shim")
	flag.StringVar(&p.ID, "id", "", "id of the task")
	flag.StringVar(&p.Address, "address", "", "containerd's gRPC address")
	flag.Bool("debug", false, "ignored: the shim always logs its actions")
	socket := flag.String("socket", "", "path of the inherited socket (of the shim itself)")
	words := flag.String(
		"behaviour",
		"",
		"the misbehaviour (of the shim itself; containerd sets $SHIMQUAKE_FAKESHIM or an annotation)",
	)
	flag.String("bundle", "", "path of the bundle (of the delete command); ignored: it is found by the id")
	flag.String("publish-binary", "", "ignored: events go to $TTRPC_ADDRESS")
	info := flag.Bool("info", false, "print the runtime's information as protobuf")
	version := flag.Bool("v", false, "print the version")
	flag.Parse()
	switch {
	case *version:
		_, err := fmt.Println(name)
		return err
	case *info:
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		out, err := proto.Marshal(&types.RuntimeInfo{Name: name, Version: &types.RuntimeVersion{Version: "v1"}})
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(out)
		return err
	case p.Namespace == "" || p.ID == "":
		return fmt.Errorf("-namespace and -id are needed; this program is started by containerd, not by hand")
	}
	switch action := flag.Arg(0); action {
	case "start":
		return bootstrap.Start(p)
	case "delete":
		return bootstrap.Cleanup(p)
	case "":
		b, err := behaviour.Parse(*words)
		if err != nil {
			return err
		}
		return daemon.Run(daemon.Params{
			Namespace: p.Namespace, ID: p.ID, Socket: *socket, TTRPCAddress: os.Getenv("TTRPC_ADDRESS"),
			Listener: os.NewFile(bootstrap.ListenFD, "listener"), Behaviour: b,
		})
	default:
		return fmt.Errorf("unknown command %q; want start or delete", action)
	}
}
