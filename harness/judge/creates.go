package judge

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// bundles is where containerd has the bundles of shims, in all releases that there are.
const bundles = "io.containerd.runtime.v2.task"

// creates: the event of a create says what the client has asked for. Histories of before
// this was kept say nothing of it.
func creates(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	events, _, _ := h.FirstUse()
	for _, e := range events {
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID != "" && i.ID == e.Container })
		if n < 0 || e.Made == nil {
			continue
		}
		for _, f := range requested(h, h.Instances[n], *e.Made) {
			if f.ok {
				continue
			}
			found = append(found, oracle.Finding{
				Invariant: oracle.Event, Class: oracle.ClassEvent,
				Subject: oracle.Subject{Namespace: e.Namespace, ID: e.Container, PID: e.PID},
				Facts: oracle.Facts{oracle.FactEvent: oracle.NotAsAsked, oracle.FactTopic: e.Topic,
					oracle.FactField: f.name, oracle.FactReported: f.reported, oracle.FactTrue: f.want},
			})
		}
	}
	return found, nil
}

// field is one that an event was to have.
type field struct {
	name, reported, want string
	ok                   bool
}

// requested compares what an event says of a container with what its client has asked
// for: the client of the task API for no input and output but its own, that of CRI for
// files that containerd names after the container, and both for a terminal's, too, whose
// second one nobody reads.
func requested(h *harness.History, i harness.Instance, m oracle.Made) []field {
	namespace, in, out := daemon.TaskNamespace, "", ""
	if h.Case.Workload.API == harness.CRI {
		namespace, out = daemon.CRINamespace, i.ID
	} else if i.Spec.Lines > 0 || i.Spec.Stdin > 0 || i.Spec.TTY {
		out = i.ID
	}
	if i.Spec.Stdin > 0 {
		in = i.ID
	}
	same := func(name, reported, want string) field { return field{name, reported, want, reported == want} }
	file := func(name, reported, of string) field {
		return field{name, reported, of, (reported == "") == (of == "") && strings.Contains(reported, of)}
	}
	return []field{
		same(oracle.FieldBundle, m.Bundle, path.Join(daemon.StateDir, bundles, namespace, i.ID)),
		same(oracle.FieldTerminal, strconv.FormatBool(m.Terminal), strconv.FormatBool(i.Spec.TTY)),
		same(oracle.FieldCheckpoint, m.Checkpoint, ""), file(oracle.FieldStdin, baseOf(m.Stdin), in),
		file(oracle.FieldStdout, baseOf(m.Stdout), out), file(oracle.FieldStderr, baseOf(m.Stderr), out),
		{oracle.FieldRootfs, strings.Join(m.Rootfs, ","), "mounts", len(m.Rootfs) > 0},
	}
}

// baseOf is the last part of a path; "" of none.
func baseOf(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}
