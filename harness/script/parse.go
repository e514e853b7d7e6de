package script

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shimquake/shimquake/spelling"
)

// The limits of a script. The longest script of the catalogue has some 30 steps.
const (
	maxSteps  = 200
	maxLine   = 1000 // bytes of a step
	maxPlayed = 2000 // steps, with all repeats
	maxRounds = 100
	// maxLines is the largest number of lines of an input. It is the same for an output.
	maxLines = 20_000
	// maxAttached is the largest number of clients that attach to one container.
	maxAttached = 4
)

// Error is an error in a step, with its place.
type Error struct {
	Line   int // the step, from 0
	Column int // in the step's text, from 0
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Parse reads the text form of a script, for a workload whose n-th container has execs[n]
// execs. It returns all errors of the script, joined, each of type *Error.
func Parse(by Client, lines []string, execs []int) (Script, error) {
	if len(lines) > maxSteps {
		return nil, &Error{Line: maxSteps, Err: fmt.Errorf("%d steps: at most %d are allowed", len(lines), maxSteps)}
	}
	p := parser{by: by, execs: execs}
	var out Script
	for i, text := range lines {
		p.line = i
		out = append(out, p.steps(text)...)
	}
	if len(out) > maxPlayed {
		p.fail(0, fmt.Errorf("%d steps, with all repeats: at most %d are allowed", len(out), maxPlayed))
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return out, nil
}

// parser reads the steps of one script.
type parser struct {
	by     Client
	execs  []int
	line   int
	column int // the step's column in its line, after a repeat
	errs   []error
}

func (p *parser) fail(column int, err error) {
	p.errs = append(p.errs, &Error{Line: p.line, Column: p.column + column, Err: err})
}

// repeated matches the beginning of a line such as `repeat 3 create c0; start c0`.
var repeated = regexp.MustCompile(`^\s*repeat(?:\s+(\d{1,4})\b)?`)

// steps reads one line: a step, or several steps after repeat.
func (p *parser) steps(text string) (all []Step) {
	at := repeated.FindStringSubmatchIndex(text)
	if at == nil || len(text) > maxLine || !utf8.ValidString(text) {
		return []Step{p.step(text)}
	}
	rounds := 0
	if at[2] >= 0 {
		rounds, _ = strconv.Atoi(text[at[2]:at[3]]) // the pattern allows at most four digits
	}
	if rounds < 1 || rounds > maxRounds {
		p.fail(0, fmt.Errorf("repeat needs a number from 1 to %d, and steps: repeat 3 create c0; start c0", maxRounds))
		return nil
	}
	p.column = at[1]
	for step := range strings.SplitSeq(text[at[1]:], ";") {
		all = append(all, p.step(step))
		p.column += len(step) + 1
	}
	p.column = 0
	return slices.Repeat(all, rounds)
}

// word is a word of a step, with its column.
type word struct {
	text   string
	column int
}

var words = regexp.MustCompile(`\S+`)

// step reads one step.
func (p *parser) step(text string) Step {
	if len(text) > maxLine || !utf8.ValidString(text) {
		p.fail(0, fmt.Errorf("a step may have at most %d bytes, and must be UTF-8", maxLine))
		return Step{}
	}
	var all []word
	for _, at := range words.FindAllStringIndex(text, -1) {
		all = append(all, word{text[at[0]:at[1]], at[0]})
	}
	if len(all) == 0 {
		p.fail(0, errors.New("the step is empty: begin it with a verb"))
		return Step{}
	}
	verb, known := Named(all[0].text)
	switch {
	case !known:
		p.fail(all[0].column, spelling.Unknown("verb", all[0].text, names(p.by)))
		return Step{}
	case verb.By&p.by == 0:
		p.fail(all[0].column, fmt.Errorf("the client of this API has no verb %q: use one of %s", verb.Name,
			strings.Join(names(p.by), ", ")))
		return Step{}
	}
	verb.On = verb.ObjectKinds(p.by)
	s, rest := Step{Verb: verb.Name}, all[1:]
	if n := len(rest); n > 0 && rest[n-1].text == "&" {
		if verb.On == OnNothing {
			p.fail(rest[n-1].column, fmt.Errorf("%s cannot run concurrently with the next step: remove &", verb.Name))
		}
		s.Concurrent, rest = true, rest[:n-1]
	}
	s.Arg, rest = p.arg(verb, all[0], rest)
	s.Of = p.objects(verb, all[0], rest)
	return s
}

// arg takes the argument of a verb from the end of its words.
func (p *parser) arg(v Verb, verb word, rest []word) (string, []word) {
	var what string
	var known []string
	switch v.Arg {
	case NoArg:
		return "", rest
	case MarkArg:
		what, known = "moment", Marks
	case SignalArg:
		what, known = "signal", Signals
	case ReleaseArg:
		return p.release(verb, rest), nil
	case DaemonArg:
		what, known = "process", daemons
	case DurationArg, MaybeDurationArg:
		return p.duration(v, verb, rest)
	case LinesArg:
		return p.lines(v, verb, rest)
	}
	if len(rest) == 0 {
		p.fail(verb.column, fmt.Errorf("%s needs a %s: %s", v.Name, what, strings.Join(known, ", ")))
		return "", rest
	}
	last := rest[len(rest)-1]
	if !slices.Contains(known, last.text) {
		p.fail(last.column, spelling.Unknown(what, last.text, known))
	}
	return last.text, rest[:len(rest)-1]
}

// release reads the containerd of an `install` step.
func (p *parser) release(verb word, all []word) string {
	if len(all) == 0 {
		p.fail(verb.column, fmt.Errorf("%s needs a release (v2.3.7), bin:DIR or src:DIR", verb.text))
		return ""
	}
	texts := make([]string, len(all))
	for i, w := range all {
		texts[i] = w.text
		switch {
		case i == 0 && !containerds.MatchString(w.text):
			p.fail(w.column, fmt.Errorf("%q does not name a containerd: write a release (v2.3.7), bin:DIR or src:DIR", w.text))
		case i == 1 && w.text != elsewhere:
			p.fail(w.column, spelling.Unknown("place", w.text, []string{elsewhere}))
		case i > 1:
			p.fail(w.column, fmt.Errorf("%s does not take %q: remove it", verb.text, w.text))
		}
	}
	return strings.Join(texts, " ")
}

// maxSoak is the longest duration in a step: half of the default time limit of a
// workload.
const maxSoak = 30 * time.Second

// duration takes a duration from the end of the words of a verb.
func (p *parser) duration(v Verb, verb word, rest []word) (string, []word) {
	if v.Arg == MaybeDurationArg && len(rest) < 2 {
		return "", rest
	}
	if len(rest) == 0 {
		p.fail(verb.column, fmt.Errorf("%s needs a duration such as 2s", v.Name))
		return "", rest
	}
	last := rest[len(rest)-1]
	if v.Arg == MaybeDurationArg && strings.Contains(last.text, "/") {
		return "", rest // another object
	}
	if d, err := time.ParseDuration(last.text); err != nil || d <= 0 || d > maxSoak {
		p.fail(last.column, fmt.Errorf("%q: expected a duration such as 2s, up to %s", last.text, maxSoak))
	}
	return last.text, rest[:len(rest)-1]
}

// lines takes a number of lines from the end of the words of a verb.
func (p *parser) lines(v Verb, verb word, rest []word) (string, []word) {
	if len(rest) == 0 {
		p.fail(verb.column, fmt.Errorf("%s needs a number of lines", v.Name))
		return "", rest
	}
	last := rest[len(rest)-1]
	if n, err := strconv.Atoi(last.text); err != nil || n < 1 || n > maxLines {
		p.fail(last.column, fmt.Errorf("%q: expected a number of lines, up to %d", last.text, maxLines))
	}
	return last.text, rest[:len(rest)-1]
}

// objects reads the objects of a step.
func (p *parser) objects(v Verb, verb word, all []word) (out []Object) {
	switch {
	case v.On == OnNothing && len(all) > 0:
		p.fail(all[0].column, fmt.Errorf("%s takes no %q", v.Name, all[0].text))
		return nil
	case v.On == OnNothing:
		return nil
	case len(all) == 0:
		p.fail(verb.column, fmt.Errorf("%s needs an object: %s", v.Name, strings.Join(p.known(v.On), ", ")))
		return nil
	case all[0].text == "all":
		return p.allBut(v, all)
	}
	for _, w := range all {
		if o, ok := p.object(v.On, w); ok {
			out = append(out, o)
		}
	}
	return out
}

// allBut reads `all` and `all but c0 c1`.
func (p *parser) allBut(v Verb, all []word) (out []Object) {
	if v.On&OnContainers == 0 {
		p.fail(all[0].column, fmt.Errorf("%s takes its objects one by one: %s", v.Name, strings.Join(p.known(v.On), ", ")))
		return nil
	}
	if len(all) == 2 || len(all) > 2 && all[1].text != "but" {
		p.fail(all[1].column, errors.New("after all write nothing, or but and the objects to omit: all but c0"))
		return nil
	}
	var left []Object
	for _, w := range all[min(2, len(all)):] {
		if o, ok := p.object(OnContainers, w); ok {
			left = append(left, o)
		}
	}
	for n := range p.execs {
		if o := Container(n); !slices.Contains(left, o) {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		p.fail(all[0].column, errors.New("but omits all containers: the step has no object left"))
	}
	if v.Reverse {
		slices.Reverse(out)
	}
	return out
}

// object reads the name of an object.
func (p *parser) object(on On, w word) (Object, bool) {
	known := p.known(on)
	if i := slices.Index(known, w.text); i < 0 {
		p.fail(w.column, spelling.Unknown("object", w.text, known))
		return Object{}, false
	}
	for _, o := range p.all() {
		if o.String() == w.text {
			return o, true
		}
	}
	return Object{}, false
}

// known returns the names of the objects of these kinds.
func (p *parser) known(on On) (out []string) {
	for _, o := range p.all() {
		if on&o.kind() != 0 {
			out = append(out, o.String())
		}
	}
	return out
}

func (p *parser) all() (out []Object) {
	if p.by == CRI {
		out = append(out, ThePod)
	}
	for n, execs := range p.execs {
		out = append(out, Container(n))
		for m := range execs {
			out = append(out, ExecOf(n, m))
		}
		for m := range maxAttached {
			if p.by == CRI {
				out = append(out, AttachedTo(n, m))
			}
		}
	}
	return out
}
