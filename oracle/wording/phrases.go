package wording

import (
	_ "embed" // the phrases
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// phrase has the words for the findings of a pattern.
type phrase struct {
	when  finding.Pattern
	words string
}

//go:embed phrases.yaml
var phrasesText []byte

// phrases are the parts of sentences that depend on facts, by their names. The first
// phrase that matches counts, and there are no words if none does.
var phrases = func() map[string][]phrase {
	var read map[string]yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(phrasesText, &read, yaml.Strict()); err != nil {
		panic(fmt.Errorf("phrases.yaml: %w", err))
	}
	all := map[string][]phrase{}
	for name, pairs := range read {
		for _, p := range pairs {
			all[name] = append(all[name], phrase{finding.NewPattern(p.Key.(string)), p.Value.(string)})
		}
	}
	return all
}()

// computed returns the phrases that no pattern can choose.
func computed() map[string]func(finding.Finding) string {
	return map[string]func(finding.Finding) string{
		"object": func(f finding.Finding) string { return strings.Trim(f.Subject.Namespace+"/"+f.Subject.ID, "/") },
		"whose":  func(f finding.Finding) string { return exit.NameOf(f.Subject.ID, f.Subject.Exec) },
		"event": func(f finding.Finding) string {
			return strings.TrimSpace("event " + strings.TrimPrefix(f.Facts[fact.Topic], "/"))
		},
		"more":   func(f finding.Finding) string { return strconv.Itoa(number(f, fact.Hierarchies) - 1) },
		"pid":    func(f finding.Finding) string { return fmt.Sprint(int32(f.Subject.PID)) },
		"signal": func(f finding.Finding) string { return signalName(number(f, fact.Reported)) },
		"wrong": func(f finding.Finding) string {
			if number(f, fact.Reported) > 255 {
				return "no exit status"
			}
			return "wrong"
		},
		"true": func(f finding.Finding) string {
			n := number(f, fact.True)
			if n <= exit.SignalBase || n >= 255 {
				return ""
			}
			return fmt.Sprintf("; %d means %s", n, signalName(n))
		},
		// The rules for the workload make these findings about a bystander, too.
		"as-workload": func(f finding.Finding) string {
			as := map[string]finding.Finding{
				fact.OthersEnd:    {Invariant: finding.End, Class: finding.ClassEnd},
				fact.OthersEvent:  {Invariant: finding.Event, Class: finding.ClassEvent},
				fact.OthersStatus: {Invariant: finding.Exit, Class: finding.ClassExitCode},
			}[f.Facts[fact.What]]
			f.Invariant, f.Class = as.Invariant, as.Class
			return fill(f, text(f, func(k finding.Kind) string { return k.Why }))
		},
	}
}

func number(f finding.Finding, key fact.Key) int {
	n, _ := strconv.Atoi(f.Facts[key])
	return n
}

// signalName returns the name of the signal in an exit status.
func signalName(status int) string {
	signal := status - exit.SignalBase
	if name := unix.SignalName(unix.Signal(signal)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", signal)
}
