package repro

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
)

// seen are the words for what a report tells.
var seen = map[read.What]string{
	read.OrphanShim:         "a shim of a container that containerd does not know",
	read.ShimWithoutPod:     "a shim of a pod that CRI does not list",
	read.ShimNotAsked:       "a shim, and nothing says whether containerd knows its container",
	read.ChildlessShim:      "a shim without children",
	read.GrowingShims:       "the number of shims grows",
	read.UnknownTask:        "a task whose state is UNKNOWN",
	read.TaskNoProcess:      "a task whose process is gone",
	read.LiveProcess:        "a container's process runs on without its shim",
	read.BundleLeft:         "a bundle of a container that containerd does not know",
	read.HiddenBundle:       "a hidden bundle, half removed",
	read.SocketLeft:         "a shim's socket without a listener",
	read.MountLeft:          "a mount of a container that containerd does not know",
	read.CgroupLeft:         "a cgroup that is left",
	read.RuncLeft:           "runc's state of a container that is gone",
	read.SandboxLeft:        "a sandbox that is left",
	read.ContainerLeft:      "a container without a task",
	read.PodWithoutIP:       "CRI knows no IP address of a pod",
	read.Status255:          "CRI says 255",
	read.Status137:          "137 is reported in place of another status",
	read.StatusChanged:      "an exit is reported twice, with two statuses",
	read.ExitTwice:          "an exit is reported twice",
	read.EventWithoutPID:    "an event without a pid",
	read.EventMissing:       "an event that never came",
	read.StillRunning:       "docker takes the container for running",
	read.StartError:         "StartError, 128",
	read.RemovalFails:       "a removal fails",
	read.SandboxNameTaken:   "the name of a pod is refused: it is reserved",
	read.ContainerNameTaken: "the name of a container is refused: it is reserved",
	read.CreatedTask:        "a task that is CREATED",
	read.StoppedTask:        "a task that is STOPPED, and not deleted",
	read.CRIUnknown:         "CRI calls a container Unknown",
	read.Zombie:             "a zombie below a shim",
	read.PodNotReady:        "a pod that is NotReady",
	read.KernelWait:         "a process that the kernel does not let end (state D)",
	read.ContainerdEnds:     "containerd ends by itself, with a fatal error",
	read.CRICreated:         "CRI calls a container Created",
	read.HoldsShutdown:      "the host's shutdown waits for a shim",
	read.RuntimeV1:          "runtime v1 is configured",
	read.BootFails:          "containerd does not come up",
	read.IDInUse:            "an id is refused: it is in use",
	read.Descriptors:        "file descriptors pile up",
	read.ShimPanics:         "a shim panics",
	read.Deadlock:           "containerd does not answer",

	read.ContainerdDied:    "containerd died",
	read.ContainerdStarted: "containerd was restarted",
	read.ShimDied:          "a shim died",
	read.PauseDied:         "a pause container died",
	read.SlowDisk:          "the disk was slow",
	read.FullDisk:          "the disk was full",
	read.NoDescriptors:     "too many files were open",
	read.ClientGaveUp:      "a client gave up, or was cancelled",
	read.NRIRefused:        "an NRI plugin refused",
	read.NetworkFailed:     "the pod's network failed",
	read.ManyExecs:         "many execs",
	read.HostShutdown:      "the host was shut down",
	read.LoggedMessage:     "a logged message",
	read.NamedFunction:     "a function of containerd's",
	read.NamedIssue:        "an issue is named",
	read.ForeignShim:       "a shim that is not containerd's own",
	read.ImagePull:         "an image cannot be pulled",
	read.OtherTrouble:      "other trouble",
}

// ReadText says what was understood.
func (a Answer) ReadText() string {
	var b quote.Text
	r := a.Report
	client := ""
	if r.Client != "" {
		client = fmt.Sprintf("; %s runs the containers", r.Client)
	}
	b.Line("read: %s of %d understood%s", count(r.Understood, "line"), r.Lines, client)
	if r.Cut > 0 {
		b.Line("  not read: %d bytes beyond the first %d MiB, or of very long lines", r.Cut, read.MostBytes>>20)
	}
	for _, v := range r.Versions {
		how := "is mentioned"
		if v.By.Said() {
			how = "is what runs"
		}
		b.Line("  %-14s containerd %s %s", fmt.Sprintf("line %d", v.Line), v.Release, how)
	}
	if len(r.Versions) > 1 {
		b.Line("  %-14s taken: %s; --containerd chooses another", "", r.Version())
	}
	for _, g := range group(r.Seen) {
		b.Line("%s", g)
	}
	if r.Others > 0 {
		first := ""
		if len(r.Other) < r.Others {
			first = fmt.Sprintf(", the first %d of them", len(r.Other))
		}
		b.Line("  not understood: %s%s", count(r.Others, "line"), first)
		for _, l := range r.Other {
			b.Line("    %5d  %s", l.N, clip(l.Text, 90))
		}
	}
	return b.String()
}

// mostThings is how many ids or messages of a kind are reported.
const mostThings = 3

// group are lines of words, a kind of thing each.
func group(all []read.Observation) (out []string) {
	done := map[read.What]bool{}
	for _, o := range all {
		if done[o.What] {
			continue
		}
		done[o.What] = true
		var lines []int
		var things []string
		n := 0
		for _, p := range all {
			if p.What != o.What {
				continue
			}
			n++
			lines = append(lines, p.Lines...)
			if thing := cmp.Or(clip(p.Raw, 60), p.Text, short(p.ID)); thing != "" && len(things) < mostThings &&
				!slices.Contains(things, thing) {
				things = append(things, thing)
			}
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
		text := seen[o.What]
		if n > 1 {
			text = fmt.Sprintf("%d x %s", n, text)
		}
		if len(things) > 0 {
			text += ": " + strings.Join(things, " | ")
			if n > len(things) {
				text += " ..."
			}
		}
		out = append(out, fmt.Sprintf("  %-14s %s", linesText(lines), text))
	}
	return out
}

func linesText(lines []int) string {
	if len(lines) > mostThings {
		return rank.Reason{Lines: lines[:mostThings]}.LinesText() + "..."
	}
	return rank.Reason{Lines: lines}.LinesText()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

func short(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}
