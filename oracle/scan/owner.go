package scan

import (
	"encoding/hex"
	"path"
	"regexp"
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

// IsName reports whether a text is a possible name of a namespace or a container. It has
// runc's rule (`validateID` of `libcontainer`), because containerd's own rule
// (pkg/identifiers) is stricter. Under this rule, a name cannot forge a row, a path or a
// command.
func IsName(name string) bool {
	return len(name) <= maxName && name != "." && name != ".." && named.MatchString(name)
}

var named = regexp.MustCompile(`^[A-Za-z0-9_+.-]+$`)

const maxName = 255 // NAME_MAX, because a directory has this name
