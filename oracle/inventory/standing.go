package inventory

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Standing is what the kernel goes by when it signals several processes at once, or
// chooses one to kill for want of memory.
type Standing struct {
	PID         int `json:"pid"`
	Group       int `json:"group"`       // its process group
	OOMScoreAdj int `json:"oomScoreAdj"` // -1000 to 1000
	// Shim is the id that it serves; "" of what is no shim.
	Shim string `json:"shim,omitempty"`
	// Cgroup is the deepest of its cgroup paths; only told of what runs behind a shim.
	Cgroup string `json:"cgroup,omitempty"`
}

// Standings are those of containerd, of the shims that serve, and of the processes that
// run behind these, at one time.
type Standings struct {
	At         time.Time  `json:"at"`
	Containerd Standing   `json:"containerd"`
	Shims      []Standing `json:"shims,omitempty"`
	Behind     []Standing `json:"behind,omitempty"`
}

// TakeStandings looks at them. It asks containerd for nothing, and reports false where
// that does not run. What ends meanwhile is left out.
func TakeStandings(s Scene) (_ Standings, runs bool, _ error) {
	s = s.withDefaults()
	out := Standings{At: time.Now()}
	all, err := processes(s.Proc, s.Own)
	if err != nil {
		return out, false, err
	}
	shims := map[int]bool{}
	for _, p := range all {
		shims[p.PID] = p.Serves()
	}
	for _, p := range all {
		if p.Zombie() || p.PID != s.Daemon && !shims[p.PID] && !shims[p.Parent] {
			continue
		}
		is := Standing{PID: p.PID, Group: p.group}
		if is.OOMScoreAdj, err = oomScoreAdj(s.Proc, p.PID); gone(err) {
			continue
		}
		if err != nil {
			return out, false, fmt.Errorf("look at how process %d stands: %w", p.PID, err)
		}
		switch {
		case p.PID == s.Daemon:
			out.Containerd = is
		case shims[p.PID]:
			is.Shim = p.Shim.ID
			out.Shims = append(out.Shims, is)
		default:
			is.Cgroup = p.Cgroup
			out.Behind = append(out.Behind, is)
		}
	}
	return out, out.Containerd.PID != 0, nil
}

func oomScoreAdj(proc string, pid int) (int, error) {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "oom_score_adj"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(text)))
}
