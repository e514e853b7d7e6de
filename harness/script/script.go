// Package script is the language of workloads. A script is a list of steps for the
// client. Each step is a line with a verb, as `ctr` and `crictl` name it, and its
// objects: "start c0". The language has no conditions, variables, expectations or faults.
// Package model knows the expected responses.
package script

import (
	"fmt"
	"slices"
	"strings"
)

// Script is the list of a client's steps.
type Script []Step

// Step is one line of a script.
type Step struct {
	Verb string
	// Of are the objects, in the order in which the client takes them.
	Of []Object
	// Arg is the argument of the verb: a signal, a moment, a duration, a number of lines,
	// the process to restart, or an Installation.
	Arg string
	// Concurrent lets the next step begin as soon as this step has sent its request.
	Concurrent bool
}

// Object is a container of the workload, an exec in it, a client that attaches to it, or
// the pod.
type Object struct {
	Container int // from 0: c0; -1: the pod
	Exec      int // from 0: c0/e0; -1: the container itself
	Attached  int // from 1: c0/a0; 0: no such client
}

// ThePod is the object of the workload's pod.
var ThePod = Object{Container: -1, Exec: -1}

// Container is the object of the n-th container.
func Container(n int) Object { return Object{Container: n, Exec: -1} }

// ExecOf is the object of the m-th exec of the n-th container.
func ExecOf(n, m int) Object { return Object{Container: n, Exec: m} }

// AttachedTo is the object of the m-th client that attaches to the n-th container.
func AttachedTo(n, m int) Object { return Object{Container: n, Exec: -1, Attached: m + 1} }

// IsExec reports whether the object is an exec.
func (o Object) IsExec() bool { return o.Exec >= 0 }

// kind returns the kind of the object.
func (o Object) kind() On {
	switch {
	case o == ThePod:
		return OnPod
	case o.IsExec():
		return OnExecs
	case o.Attached > 0:
		return OnAttached
	}
	return OnContainers
}

// Is reports whether the object is of one of these kinds.
func (o Object) Is(on On) bool { return on&o.kind() != 0 }

func (o Object) String() string {
	switch o.kind() {
	case OnPod:
		return "pod"
	case OnExecs:
		return fmt.Sprintf("c%d/e%d", o.Container, o.Exec)
	case OnAttached:
		return fmt.Sprintf("c%d/a%d", o.Container, o.Attached-1)
	}
	return fmt.Sprintf("c%d", o.Container)
}

// String returns the text form of the step.
func (s Step) String() string {
	words := []string{s.Verb}
	for _, o := range s.Of {
		words = append(words, o.String())
	}
	if s.Arg != "" {
		words = append(words, s.Arg)
	}
	if s.Concurrent {
		words = append(words, "&")
	}
	return strings.Join(words, " ")
}

// Lines returns the text form of the script. Parse reads it.
func (s Script) Lines() []string {
	lines := make([]string, len(s))
	for i, step := range s {
		lines[i] = step.String()
	}
	return lines
}

// Count returns the number of steps with this verb and object.
func (s Script) Count(verb string, of Object) (n int) {
	for _, step := range s {
		if step.Verb == verb && slices.Contains(step.Of, of) {
			n++
		}
	}
	return n
}

// Has reports whether there is a step with this verb and object.
func (s Script) Has(verb string, of Object) bool { return s.Count(verb, of) > 0 }

// Uses reports whether there is a step with this verb.
func (s Script) Uses(verb string) bool {
	for _, step := range s {
		if step.Verb == verb {
			return true
		}
	}
	return false
}
