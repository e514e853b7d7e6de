package wording

import (
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// kindWords name a file or a record of the metadata.
func kindWords(fs fact.Facts) string {
	switch kind := fs[fact.Kind]; kind {
	case fact.ASnapshotDir:
		return "directory of a snapshot"
	case fact.AFIFO:
		return "FIFO"
	case fact.ASymlink:
		return "symbolic link"
	case fact.ALabel:
		return "label of the namespace"
	case fact.AnActivation:
		return "activation of the mount manager"
	default:
		return kind
	}
}

func fileWords(f finding.Finding) string {
	switch {
	case f.Facts[fact.Size] == fact.Grown:
		return says("it existed before, and has grown by %s bytes", fact.Count)(f)
	case f.Facts[fact.Kind] == fact.ASnapshotDir:
		return "not removed, and no snapshot in containerd's metadata has it"
	}
	return "it is new, and no place of containerd's permanent files"
}
