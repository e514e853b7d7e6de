package audit

import (
	"errors"
	"io/fs"
	"time"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/scan"
)

// More is read about an object without a task: its age, the processes of a cgroup, and
// the init of a container. It is read with the object, so that a walk that is cut leaves
// out whole objects. A healthy node has few objects without a task. Mounts are not
// accessed, because their file systems may hang.

// changed returns the time of the last change of an object without a task. It reports
// false if the object is gone, or if the walk has reached its limits.
func (w *viewing) changed(name string, of Key) (at time.Time, isThere bool) {
	if _, ok := w.Known.Tasks[of]; ok {
		return time.Time{}, true
	}
	info, err := w.tree.Stat(name)
	if err != nil { // the file of another user is reported without its age
		return time.Time{}, !errors.Is(err, fs.ErrNotExist) && w.budget.Cut() == nil
	}
	return info.ModTime(), true
}

// state returns runc's state of a container. It reports the same as changed.
func (w *viewing) state(r scan.RuncState) (s State, isThere bool) {
	k := Key{r.Namespace, r.ID}
	if task, ok := w.Known.Tasks[k]; ok && task.Status == fact.TaskStopped {
		k = Key{} // its process may still be there
	}
	s.RuncState = r
	if s.Changed, isThere = w.changed(r.Path, k); !s.Changed.IsZero() {
		s.PID, s.Start = runcInit(w.tree, r.Path)
	}
	return s, isThere && w.budget.Cut() == nil
}
