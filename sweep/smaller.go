package sweep

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// smaller returns smaller forms of a workload, the smallest first. One form has a single
// container with the standard lifecycle. Each of the others lacks a container, an exec, a
// step, half of a repeat, or a property. Some forms are not valid.
func smaller(w harness.Workload) (all []harness.Workload) {
	if w.API == harness.CRI || w.Scripted() || len(w.Containers) > 1 {
		first := w.Containers[0]
		first.Execs, first.Stays = nil, false // these keys need a script
		all = append(all, harness.Workload{Containers: []harness.Container{first}})
	}
	for n, c := range w.Containers {
		if len(w.Containers) > 1 {
			less := withScript(w, renamed(w.Script, namesWithoutContainer(n, len(w.Containers))))
			less.Containers = slices.Delete(slices.Clone(w.Containers), n, n+1)
			all = append(all, less)
		}
		for m := range c.Execs {
			less := withScript(w, renamed(w.Script, namesWithoutExec(n, m)))
			less.Containers = slices.Clone(w.Containers)
			less.Containers[n].Execs = slices.Delete(slices.Clone(c.Execs), m, m+1)
			all = append(all, less)
		}
	}
	for n := range w.Script {
		all = append(all, withScript(w, withoutLine(w.Script, n)))
		if half := halved(w.Script, n); half != nil {
			all = append(all, withScript(w, half))
		}
	}
	return append(all, withoutProperties(w)...)
}

func withScript(w harness.Workload, lines []string) harness.Workload {
	w.Script = lines
	return w
}

// namesWithoutContainer returns the new names of the objects after the n-th of all
// containers was removed. The new name of a removed object is "".
func namesWithoutContainer(n, all int) map[string]string {
	names := map[string]string{}
	for c := n; c < all; c++ {
		was, is := script.Container(c).String(), ""
		if c > n {
			is = script.Container(c - 1).String()
		}
		names[was] = is
		for m := range harness.MaxExecs { // execs and attached clients
			for _, suffix := range []string{fmt.Sprintf("/e%d", m), fmt.Sprintf("/a%d", m)} {
				if names[was+suffix] = ""; is != "" {
					names[was+suffix] = is + suffix
				}
			}
		}
	}
	return names
}

// namesWithoutExec does the same for the m-th exec of the n-th container.
func namesWithoutExec(n, m int) map[string]string {
	names := map[string]string{script.ExecOf(n, m).String(): ""}
	for e := m + 1; e < harness.MaxExecs; e++ {
		names[script.ExecOf(n, e).String()] = script.ExecOf(n, e-1).String()
	}
	return names
}

// repeated matches the line of a repeat.
var repeated = regexp.MustCompile(`^\s*repeat\s+(\d+)\s+(.*)$`)

// renamed returns the lines of a script with the new names of objects, and without the
// steps that have no object left.
func renamed(lines []string, names map[string]string) (out []string) {
	for _, line := range lines {
		rounds, steps := "", line
		if found := repeated.FindStringSubmatch(line); found != nil {
			rounds, steps = "repeat "+found[1]+" ", found[2]
		}
		var left []string
		for step := range strings.SplitSeq(steps, ";") {
			if step = renamedStep(step, names); step != "" {
				left = append(left, step)
			}
		}
		if len(left) > 0 {
			out = append(out, rounds+strings.Join(left, "; "))
		}
	}
	return out
}

// renamedStep does the same for one step. It returns "" if no object is left.
func renamedStep(step string, names map[string]string) string {
	words := strings.Fields(step)
	some := slices.Contains(words, "all")
	gone := false
	words = slices.DeleteFunc(words, func(w string) bool {
		name, other := names[w]
		gone = gone || other && name == ""
		return other && name == ""
	})
	for i, w := range words {
		if name, other := names[w]; other {
			words[i] = name
		}
		some = some || strings.HasPrefix(w, "c") && strings.ContainsAny(w, "0123456789")
	}
	if n := slices.Index(words, "but"); n >= 0 && (n == len(words)-1 || words[n+1] == "&") {
		words = slices.Delete(words, n, n+1)
	}
	if gone && !some {
		return ""
	}
	return strings.Join(words, " ")
}

// withoutLine returns the script without its n-th line. If the line is a concurrent step,
// it also removes a `join` that waits for this step alone.
func withoutLine(lines []string, n int) []string {
	less := slices.Delete(slices.Clone(lines), n, n+1)
	if !isConcurrent(lines[n]) {
		return less
	}
	for i := n - 1; i >= 0 && less[i] != script.Join; i-- {
		if isConcurrent(less[i]) {
			return less
		}
	}
	for i := n; i < len(less) && !isConcurrent(less[i]); i++ {
		if less[i] == script.Join {
			return slices.Delete(less, i, i+1)
		}
	}
	return less
}

func isConcurrent(line string) bool { return strings.HasSuffix(line, "&") }

// halved returns the script with half of the rounds of its n-th line. If one round is
// left, halved writes its steps without `repeat`. If the line has no `repeat`, it returns
// nil.
func halved(lines []string, n int) []string {
	found := repeated.FindStringSubmatch(lines[n])
	if found == nil {
		return nil
	}
	rounds, _ := strconv.Atoi(found[1]) // cannot fail: the pattern matches digits only
	less := []string{fmt.Sprintf("repeat %d %s", rounds/2, found[2])}
	if rounds < 2 {
		less = nil
		for step := range strings.SplitSeq(found[2], ";") {
			less = append(less, strings.TrimSpace(step))
		}
	}
	return slices.Concat(lines[:n], less, lines[n+1:])
}

// notShrunk are the fields that withoutProperties keeps. smaller reduces some of them in
// other ways. The others are times, and the exit status, which must differ from 0 to show
// that containerd reports the right one.
var notShrunk = []string{"API", "Containers", "Script", "Execs", "Exit", "CallTimeout", "TimeLimit", "Settle"}

// withoutProperties returns the workloads with one property less: of the workload, of a
// container or of an exec.
func withoutProperties(w harness.Workload) (all []harness.Workload) {
	each := func(of func(*harness.Workload) reflect.Value) {
		for _, f := range reflect.VisibleFields(of(&w).Type()) {
			if slices.Contains(notShrunk, f.Name) || of(&w).FieldByIndex(f.Index).IsZero() {
				continue
			}
			less := w
			less.Containers = slices.Clone(w.Containers)
			for n := range less.Containers {
				less.Containers[n].Execs = slices.Clone(w.Containers[n].Execs)
			}
			of(&less).FieldByIndex(f.Index).SetZero()
			all = append(all, less)
		}
	}
	each(func(w *harness.Workload) reflect.Value { return reflect.ValueOf(w).Elem() })
	for n, c := range w.Containers {
		each(func(w *harness.Workload) reflect.Value { return reflect.ValueOf(&w.Containers[n]).Elem() })
		for m := range c.Execs {
			each(func(w *harness.Workload) reflect.Value { return reflect.ValueOf(&w.Containers[n].Execs[m]).Elem() })
		}
	}
	return all
}
