package audit

import (
	"path"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// settings is what the audit wants of a config.toml.
type settings struct {
	State   string   `toml:"state"`
	Root    string   `toml:"root"`
	Imports []string `toml:"imports"`
	GRPC    struct {
		Address string `toml:"address"`
	} `toml:"grpc"`
}

// configFiles is where configurations are: a scan.Tree.
type configFiles interface {
	ReadAll(name string) string
	Glob(pattern string) []string
}

// mostConfigs is how many files of one configuration are read: imports may go round.
const mostConfigs = 100

// configured reads a config.toml and what it imports, of which the last says it, as
// containerd's LoadConfig (cmd/containerd/server/config) does. A file that is not there,
// or is no TOML, says nothing.
func configured(files configFiles, name string) places {
	var p places
	all := []string{name}
	for i := 0; i < len(all) && i < mostConfigs; i++ {
		var s settings
		if toml.Unmarshal([]byte(files.ReadAll(all[i])), &s) != nil {
			continue
		}
		p = places{address: s.GRPC.Address, state: s.State, root: s.Root}.or(p)
		for _, pattern := range s.Imports {
			if !path.IsAbs(pattern) {
				pattern = path.Join(path.Dir(all[i]), pattern)
			}
			for _, imported := range files.Glob(pattern) {
				if !slices.Contains(all, imported) {
					all = append(all, imported)
				}
			}
		}
	}
	return p
}
