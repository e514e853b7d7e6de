package audit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

func TestConfigured(t *testing.T) {
	const plain = `version = 2
root = "/data/containerd" # a comment
  state = '/run/other'
disabled_plugins = ["x"]
[grpc]
  address = "/run/other/c.sock"
  uid = 0
[ttrpc]
  address = "/run/other/t.sock"
[plugins."io.containerd.grpc.v1.cri"]
  root = "/no"
`
	for name, tt := range map[string]struct {
		files map[string]string
		want  places
	}{
		"one file": {
			map[string]string{"/etc/containerd/config.toml": plain},
			places{address: "/run/other/c.sock", Places: inventory.Places{State: "/run/other", Root: "/data/containerd"}},
		},
		"a table in a line": {
			map[string]string{"/etc/containerd/config.toml": "grpc = {address = '/a.sock'}"},
			places{address: "/a.sock"},
		},
		"the last import says it": {
			map[string]string{
				"/etc/containerd/config.toml": "imports = [\n  'conf.d/*.toml', # more\n  '/one.toml',\n]\n" +
					"root = '/r'\nstate = '/s'",
				"/etc/containerd/conf.d/b.toml": "state = '/b'",
				"/etc/containerd/conf.d/a.toml": "state = '/a'",
				"/etc/containerd/conf.d/a.conf": "state = '/no'",
				"/one.toml":                     "grpc.address = '/one.sock'",
			},
			places{address: "/one.sock", Places: inventory.Places{State: "/b", Root: "/r"}},
		},
		"imports go round": {
			map[string]string{
				"/etc/containerd/config.toml": "imports = ['config.toml', 'more.toml']\nroot = '/r'",
				"/etc/containerd/more.toml":   "imports = ['*']",
			},
			places{Places: inventory.Places{Root: "/r"}},
		},
		"no TOML":   {map[string]string{"/etc/containerd/config.toml": "root = "}, places{}},
		"not there": {nil, places{}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range tt.files {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := scan.OpenTree(root)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(tree.Close)
			if got, err := configured(tree, "/etc/containerd/config.toml"); err != nil || got != tt.want {
				t.Errorf("%+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// oneFile is a node where every file has one text.
type oneFile string

func (f oneFile) ReadLinked(string, int64) ([]byte, error) { return []byte(f), nil }
func (f oneFile) Glob(pattern string) ([]string, error)    { return []string{pattern}, nil }

func FuzzConfigured(f *testing.F) {
	f.Add("[grpc]\naddress = \"/a\"\nroot='x'")
	f.Add("imports = ['a', 'a/b', '../*']\nroot = '/r'")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = configured(oneFile(text), "/etc/containerd/config.toml")
	})
}
