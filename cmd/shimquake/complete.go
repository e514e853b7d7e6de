package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/sweep/plan"
)

// words returns the completions of an argument or a flag. A tab separates a word from its
// description.
type words func() []string

// argumentWords maps the path of a command to the completions of its arguments. The shell
// completes file names itself.
var argumentWords = map[string]words{
	"run": caseWords, "bisect": caseWords, "show": bugWords, "matrix": bugWords, "repro": bugWords,
	"build": releaseWords,
}

// flagWords maps flags to their completions. A flag has the same meaning in each command.
var flagWords = map[string]words{
	"containerd": subjectWords, "releases": subjectWords, "good": releaseWords, "bad": releaseWords,
	"without": bugWords,
	"who":     func() []string { return append(slices.Clone(plan.Processes), "both") },
	"actions": func() []string { return plan.Actions }, "path": func() []string { return plan.Paths },
	"workload": plan.WorkloadNames,
}

// takesFiles are the commands whose arguments may be files as well as words.
var takesFiles = map[string]bool{"run": true, "bisect": true, "repro": true}

func caseWords() (all []string) {
	for _, b := range catalogue.Bugs() {
		for _, c := range b.Cases {
			all = append(all, c.Name+"\t"+b.Title)
		}
	}
	return all
}

func bugWords() (all []string) {
	for _, b := range catalogue.Bugs() {
		all = append(all, b.ID+"\t"+b.Title)
	}
	return all
}

func releaseWords() []string { return containerd.Releases() }

func subjectWords() []string {
	return append(releaseWords(), "bin:\ta folder of binaries", "src:\ta checkout of containerd")
}

// completeWords gives cobra the completions of c and its commands.
func completeWords(c *cobra.Command) {
	for _, sub := range c.Commands() {
		completeWords(sub)
	}
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	if w := argumentWords[path]; w != nil {
		c.ValidArgsFunction = offer(w, takesFiles[path])
	}
	for name, w := range flagWords {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, offer(w, false)) // The flag exists and has no other function.
		}
	}
}

func offer(w words, files bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if scheme, _, is := strings.Cut(toComplete, ":"); is && (scheme == "bin" || scheme == "src") {
			return nil, cobra.ShellCompDirectiveDefault // The shell completes folders.
		}
		var all []string
		for _, word := range w() {
			if strings.HasPrefix(word, toComplete) {
				all = append(all, word)
			}
		}
		switch {
		case files:
			return all, cobra.ShellCompDirectiveDefault
		case len(all) == 1 && strings.Contains(all[0], ":\t"): // A folder follows.
			return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
