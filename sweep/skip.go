package sweep

import (
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
)

// timed are functions that run when a timer says so: CRI and the metrics plugin collect statistics all the time. Whether a workload meets them is luck,
// and their faults say nothing about it. They are swept when --points asks for them.
var timed = []string{"tasks.getTasksMetrics", "tasks.local.Metrics", "tasks.service.Metrics", "runtime.shimTask.Stats", "runc-task.service.Stats", "Task.Stats",
	"cri-events.backOff.getExpiredIDs"}

func isTimed(p failpoints.Point) bool {
	return slices.Contains(timed, p.What) || p.What == "cri-events.EventMonitor.Start" && (strings.Contains(p.Where, "backOff") || strings.Contains(p.Where, "range-ids"))
}

// passive are statements, by their text, that cannot wait and call nothing that is given one: one that is cancelled before them is still
// unseen at the next statement, where it is cancelled too.
var passive = regexp.MustCompile(`^(if-err|if-[A-Za-z0-9_.]+-nil|return(-.*)?|defer-[A-Za-z-]*|log\..*|var-.*|[A-Za-z0-9_.]+-(true|false|nil))(#\d+)?$`)

// idle says whether ending the context at a statement is the same as ending it at the next.
func idle(p failpoints.Point) bool {
	return p.Kind == failpoints.Stmt && passive.MatchString(p.Where) && !strings.Contains(strings.ToLower(p.Where), "ctx")
}
