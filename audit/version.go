package audit

import (
	"cmp"
	"debug/buildinfo"
	"regexp"
	"strings"
)

// versionFlag matches the linker flag with which containerd's Makefile sets the version.
var versionFlag = regexp.MustCompile(`containerd(?:/v2)?/version\.Version=([^\s'"]+)`)

// build reports whether a binary contains containerd, and returns containerd's version,
// or "". Both come from Go's build information: the linker's flag, the version of the
// main module, or in k3s and rke2 the replacement of containerd's module.
func build(exe string) (version string, isContainerd bool) {
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		return "", false
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != "github.com/containerd/containerd" && m.Path != "github.com/containerd/containerd/v2" {
			continue
		}
		isContainerd = true
		// A replacement by a folder has no version.
		version = cmp.Or(release(cmp.Or(m.Replace, m).Version), release(m.Version), version)
	}
	for _, s := range info.Settings {
		if m := versionFlag.FindStringSubmatch(s.Value); m != nil {
			version = release(m[1])
		}
	}
	return version, isContainerd
}

// versionLike matches the forms of containerd's version: 1.7.2, v2.3.7-5-gabc.m,
// 1.6.20~ds1.
var versionLike = regexp.MustCompile(`^v?[0-9][A-Za-z0-9.~:+_-]{0,100}$`)

// release returns a version with its v, such as v1.7.2, or "" if the text is no version.
func release(version string) string {
	version = strings.TrimSpace(version)
	if !versionLike.MatchString(version) {
		return ""
	}
	return "v" + strings.TrimPrefix(version, "v")
}
