package scan

import (
	"encoding/hex"
	"path"
	"strings"
)

// UnitID returns the container id in one part of a cgroup path. That is the part itself,
// or "c1" of "cri-containerd-c1.scope", as runc's systemd driver names it
// (PREFIX-ID.scope).
func UnitID(word string) string {
	name, ok := strings.CutSuffix(word, ".scope")
	if !ok {
		return word
	}
	for _, prefix := range []string{"cri-containerd-", "docker-", "nerdctl-"} {
		if id, ok := strings.CutPrefix(name, prefix); ok {
			return id
		}
	}
	return name
}

// LongID reports whether CRI or docker may have made an id, which then has 64 hexadecimal
// digits.
func LongID(id string) bool {
	raw, err := hex.DecodeString(id)
	return err == nil && len(raw) == 32
}

// MountOwner returns the container or pod of a mount point in a bundle or in a directory
// of CRI.
func MountOwner(point string) (ns, id string) {
	for _, parent := range BundleParents {
		if _, rest, ok := strings.Cut(point, "/"+parent+"/"); ok {
			if words := strings.SplitN(rest, "/", 3); len(words) >= 2 {
				return words[0], strings.TrimPrefix(words[1], ".")
			}
		}
	}
	for _, parent := range CRIParents {
		if _, rest, ok := strings.Cut(point, "/"+parent+"/"); ok {
			id, _, _ := strings.Cut(rest, "/")
			return "k8s.io", path.Base(id)
		}
	}
	return "", ""
}
