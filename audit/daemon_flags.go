package audit

import (
	"cmp"
	"path"
	"strings"
)

// places has the paths in containerd's command line and configuration.
type places struct {
	config, address, state, root string
}

// daemonFlags reads containerd's command line: `containerd --config FILE --address SOCKET
// --state DIR --root DIR`, also `-c FILE`, `-a SOCKET` and --flag=value. It returns false
// for a command that does not run the daemon: `containerd publish`, `containerd config
// dump`, `containerd --version`.
func daemonFlags(argv []string) (places, bool) {
	var p places
	into := map[string]*string{
		"config": &p.config, "c": &p.config, "address": &p.address, "a": &p.address, "state": &p.state, "root": &p.root,
	}
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if !strings.HasPrefix(word, "-") {
			return p, word == "" // a command
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch name {
		case "version", "v", "help", "h":
			return p, false
		}
		if !hasValue {
			i++ // every other flag of containerd has a value
			if i < len(argv) {
				value = argv[i]
			}
		}
		if to := into[name]; to != nil {
			*to = value
		}
	}
	return p, len(argv) > 0
}

// isContainerd reports whether a process may be a containerd daemon. k3s and rke2 run one
// binary under several names, so isContainerd also checks the first word of the command
// line.
func isContainerd(exe string, argv []string) (places, bool) {
	if len(argv) == 0 {
		return places{}, false
	}
	name, _ := strings.CutSuffix(exe, deleted)
	if path.Base(name) != "containerd" && path.Base(argv[0]) != "containerd" {
		return places{}, false
	}
	return daemonFlags(argv)
}

// deleted is the kernel's suffix of a link to a file that was removed or replaced.
const deleted = " (deleted)"

// or returns p, with its missing paths from q.
func (p places) or(q places) places {
	return places{cmp.Or(p.config, q.config), cmp.Or(p.address, q.address), cmp.Or(p.state, q.state),
		cmp.Or(p.root, q.root)}
}

// defaults are containerd's default paths.
var defaults = places{
	config: "/etc/containerd/config.toml", address: "/run/containerd/containerd.sock",
	state: "/run/containerd", root: "/var/lib/containerd",
}
