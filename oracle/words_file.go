package oracle

import "fmt"

// kindWords name a file or a record of the metadata.
func kindWords(fs Facts) string {
	switch kind := fs[FactKind]; kind {
	case ASnapshotDir:
		return "directory of a snapshot"
	case AFIFO:
		return "FIFO"
	case ASymlink:
		return "symbolic link"
	case ALabel:
		return "label of the namespace"
	case AnActivation:
		return "activation of the mount manager"
	default:
		return kind
	}
}

func fileWords(fs Facts) string {
	if fs[FactSize] == Grown {
		return fmt.Sprintf("it was there before, and has grown by %s bytes", fs[FactCount])
	}
	if fs[FactKind] == ASnapshotDir {
		return "not removed, and no snapshot in containerd's metadata has it"
	}
	return "it was not there before, and nothing that containerd keeps lies there"
}
