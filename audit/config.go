package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// settings has the keys of a config.toml that the audit needs.
type settings struct {
	State   string   `toml:"state"`
	Root    string   `toml:"root"`
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
