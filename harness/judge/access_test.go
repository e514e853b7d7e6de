package judge

import (
	"testing"

	"github.com/shimquake/shimquake/oracle"
)

func TestAccess(t *testing.T) {
	const bundle = "/run/containerd/io.containerd.runtime.v2.task/shimquake/c0"
	for name, tc := range map[string]struct {
		is   oracle.FileMode
		want string
	}{
		"a bundle":                {mode(bundle, oracle.ADirectory, 0o700), ""},
		"one of a user namespace": {mode(bundle, oracle.ADirectory, 0o710), ""},
		"one that all may enter": {mode(bundle, oracle.ADirectory, 0o711),
			"access file kind=directory access=any-enters mode=0711 path=STATE/io.containerd.runtime.v2.task/shimquake/ID"},
		"what is in one":          {mode(bundle+"/config.json", "", 0o644), ""},
		"what is in one, for all": {mode(bundle+"/config.json", "", 0o646), "access file kind=file access=any-writes"},
		"what nobody can reach":   {mode("/run/containerd/closed/x", "", 0o666), ""},
		"a link":                  {mode(bundle+"/work", oracle.ASymlink, 0o777), ""},
		"a directory for all":     {mode("/run/containerd/x", oracle.ADirectory, 0o777), "access file access=any-writes"},
		"one like /tmp":           {mode("/run/containerd/x", oracle.ADirectory, 0o1777), ""},
		"a socket":                {mode("/run/containerd/s/1", oracle.ASocket, 0o660), ""},
		"a socket that all may read": {mode("/run/containerd/s/1", oracle.ASocket, 0o664),
			"access file kind=socket access=any-enters"},
		"a file of another user": {oracle.FileMode{File: oracle.File{Path: "/run/containerd/x"}, Mode: 0o600, UID: 7},
			"access file access=not-roots reported=7"},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			h.Before.Places = oracle.Places{State: "/run/containerd"}
			h.After.Inventory.Places = h.Before.Places
			h.Modes = []oracle.FileMode{mode("/run/containerd/closed", oracle.ADirectory, 0o700), tc.is}
			if got := says(Judge(h), tc.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tc.want, Judge(h))
			}
		})
	}
}

func mode(path, kind string, mode uint32) oracle.FileMode {
	return oracle.FileMode{File: oracle.File{Path: path, Kind: kind}, Mode: mode}
}
