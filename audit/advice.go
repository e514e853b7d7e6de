package audit

import (
	"fmt"
	"path"
	"slices"
)

// advice is one line of what a careful operator can do. Nothing of it is done here.
func advice(s Suspect) string {
	has := func(fact string) bool { return slices.Contains(s.Facts, fact) }
	switch s.Kind {
	case Shim:
		switch {
		case has("state=stopped"):
			return fmt.Sprintf("kill -CONT %d, and audit again", s.PID)
		case has("state=uninterruptible"):
			return fmt.Sprintf("read /proc/%d/stack for what it waits for; no signal ends it before that", s.PID)
		case has("children=some"):
			return fmt.Sprintf("its processes still run: end them first (pgrep -P %d), then kill %d", s.PID, s.PID)
		}
		return fmt.Sprintf("it serves nobody: keep evidence (--bundle), then kill %d; SIGKILL if it is there after 10 s",
			s.PID)
	case Forgotten:
		if has("state=zombie") {
			return "its shim does not reap: end the pod in the usual way; a zombie costs a pid and no more"
		}
		return fmt.Sprintf("decide by its owner's log whether it may end, then kill %d, and runc --root %s delete %s",
			s.PID, path.Join("/run/containerd/runc", s.Namespace), s.ID)
	case LostTask:
		switch {
		case has("state=stopped"):
			return fmt.Sprintf("find who has stopped the shim, then kill -CONT %d", s.PID)
		case has("task=UNKNOWN"):
			return fmt.Sprintf("read /proc/%d/stack and the shim's log in containerd's journal; do not restart containerd now:"+
				" a shim that does not answer is then taken for dead", s.PID)
		}
		return fmt.Sprintf("ctr -n %s task delete --force %s, or remove the pod: containerd then cleans up",
			s.Namespace, s.ID)
	case InCRI:
		return "drain the node and restart containerd: CRI then reads containerd's records, and kubelet removes what it" +
			" does not want"
	case Directory:
		if has("task=not-asked") {
			return "start containerd: it removes a bundle whose shim is gone"
		}
		return fmt.Sprintf("if `ctr -n %s task ls` does not show it: umount %s where it is mounted, then remove the"+
			" directory", s.Namespace, path.Join(s.Path, "rootfs"))
	case RuncState:
		return fmt.Sprintf("runc --root %s delete %s", path.Dir(s.Path), s.ID)
	case Group:
		return "rmdir it: the kernel refuses while anything is in it"
	case Mounted:
		return "umount it: it refuses while it is in use"
	default: // a socket
		return "it harms nobody; rm it when no shim is about to start"
	}
}
