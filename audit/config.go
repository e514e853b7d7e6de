package audit

import (
	"errors"
	"fmt"
	"io/fs"
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
	ReadLinked(name string, most int64) ([]byte, error)
	Glob(pattern string) ([]string, error)
}

// mostConfigs is how many files of one configuration are read: imports may go round.
const mostConfigs = 100

// mostConfig is how large a file of a configuration may be. containerd's defaults take
// 20 KiB, and the decoder's stack grows with the depth of what it reads.
const mostConfig = 256 << 10

// configured reads a config.toml and what it imports, of which the last says it, as
// containerd's LoadConfig (cmd/containerd/server/config) does. A file that is not there,
// or is no TOML, says nothing. The error names what else could not be read.
func configured(files configFiles, name string) (places, error) {
	var p places
	var errs []error
	all := []string{name}
	for i := 0; i < len(all); i++ {
		if i == mostConfigs {
			errs = append(errs, fmt.Errorf("%s imports more than %d files", name, mostConfigs))
			break
		}
		text, err := files.ReadLinked(all[i], mostConfig)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		var s settings
		if err != nil || toml.Unmarshal(text, &s) != nil {
			continue
		}
		p = places{address: s.GRPC.Address, state: s.State, root: s.Root}.or(p)
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
