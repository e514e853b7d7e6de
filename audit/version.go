package audit

import (
	"debug/buildinfo"
	"regexp"
	"strings"
)

// versionFlag is how containerd's Makefile tells its binary its version.
var versionFlag = regexp.MustCompile(`containerd(?:/v2)?/version\.Version=([^\s'"]+)`)

// versionOf reads a binary's version from its build information: the linker's flag, the
// main module's version, or in k3s and rke2 that of the containerd that they replace the
// module with. It is "" where nothing tells.
func versionOf(exe string) string {
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		return ""
	}
	for _, s := range info.Settings {
		if m := versionFlag.FindStringSubmatch(s.Value); m != nil {
			return release(m[1])
		}
	}
	if isModule(info.Main.Path) && info.Main.Version != "(devel)" {
		return release(info.Main.Version)
	}
	for _, d := range info.Deps {
		if !isModule(d.Path) {
			continue
		}
		if d.Replace != nil && d.Replace.Version != "" {
			return release(d.Replace.Version)
		}
		return release(d.Version)
	}
	return ""
}

func isModule(path string) bool {
	return path == "github.com/containerd/containerd" || path == "github.com/containerd/containerd/v2"
}

// release is a version as releases are named, with its v.
func release(version string) string {
	version = strings.TrimSpace(version)
	if version == "" || version == "(devel)" {
		return ""
	}
	return "v" + strings.TrimPrefix(version, "v")
}
