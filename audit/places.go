package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// places has the paths in containerd's command line and configuration.
type places struct {
	config, address string
	inventory.Places
}

// isContainerd reports whether a process may be a containerd daemon, and reads its
// command line: `containerd --config FILE --address SOCKET --state DIR --root DIR`, also
// `-c FILE` and `-a SOCKET`. Other commands do not run the daemon: `containerd publish`,
// `containerd config dump`, `containerd --version`. k3s and rke2 run one binary under
// several names, so isContainerd also checks the first word of the command line.
func isContainerd(exe string, argv []string) (p places, is bool) {
	name, _ := strings.CutSuffix(exe, deleted)
	if len(argv) == 0 || path.Base(name) != "containerd" && path.Base(argv[0]) != "containerd" {
		return p, false
	}
	asksOnly := false
	command := scan.Flags(argv, map[string]*string{
		"config": &p.config, "c": &p.config, "address": &p.address, "a": &p.address, "state": &p.State, "root": &p.Root,
	}, func(name string) bool { // every other flag of containerd has a value
		isSwitch := slices.Contains([]string{"version", "v", "help", "h"}, name)
		asksOnly = asksOnly || isSwitch
		return isSwitch
	})
	return p, command == "" && !asksOnly
}

// deleted is the kernel's suffix of a link to a file that was removed or replaced.
const deleted = " (deleted)"

// or returns p, with its missing paths from q.
func (p places) or(q places) places {
	return places{cmp.Or(p.config, q.config), cmp.Or(p.address, q.address),
		inventory.Places{Root: cmp.Or(p.Root, q.Root), State: cmp.Or(p.State, q.State)}}
}

// defaults are containerd's default paths.
var defaults = places{
	config: "/etc/containerd/config.toml", address: "/run/containerd/containerd.sock",
	Places: usualPlaces[0],
}

// settings has the keys of a config.toml that the audit needs.
type settings struct {
	inventory.Places
	Imports []string `toml:"imports"`
	GRPC    struct {
		Address string `toml:"address"`
	} `toml:"grpc"`
}

// configFiles reads configuration files. A scan.Tree implements it.
type configFiles interface {
	ReadLinked(name string, most int64) ([]byte, error)
	Glob(pattern string) ([]string, error)
}

// maxConfigs limits the files of one configuration, because imports may form a cycle.
const maxConfigs = 100

// maxConfig limits the size of a configuration file, because the decoder's stack grows
// with the depth of the file. containerd's default configuration takes 20 KiB.
const maxConfig = 256 << 10

// configured reads a config.toml and its imports. The last import takes precedence, as in
// containerd's LoadConfig (cmd/containerd/server/config). It ignores a file that is
// missing, or is no TOML. The error names other files that could not be read.
func configured(files configFiles, name string) (places, error) {
	var p places
	var errs []error
	all := []string{name}
	for i := 0; i < len(all); i++ {
		if i == maxConfigs {
			errs = append(errs, fmt.Errorf("%s imports more than %d files", name, maxConfigs))
			break
		}
		text, err := files.ReadLinked(all[i], maxConfig)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		var s settings
		if err != nil || toml.Unmarshal(text, &s) != nil {
			continue
		}
		p = places{address: s.GRPC.Address, Places: s.Places}.or(p)
		for _, pattern := range s.Imports {
			if !path.IsAbs(pattern) {
				pattern = path.Join(path.Dir(all[i]), pattern)
			}
			matches, err := files.Glob(pattern)
			if err != nil {
				errs = append(errs, err)
			}
			for _, imported := range matches {
				if !slices.Contains(all, imported) {
					all = append(all, imported)
				}
			}
		}
	}
	return p, errors.Join(errs...)
}
