package statement

import (
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/mod/semver"
	"golang.org/x/sys/unix"
)

// Match names the statements that made a text.
type Match struct {
	// Chain are the texts, the outermost first: what was logged, then the error that stands
	// in it, then what that wraps. Empty where no release makes such a text.
	Chain []*Text
	// Codes are the codes that the text itself says, of errdefs or of errno: "NotFound",
	// "ENOSPC".
	Codes []string
	// Unknown is the part that no statement makes: the words of runc, of the kernel or of
	// another program. "" where all is known.
	Unknown string

	weight int // letters that are explained
}

// Holds reports whether the innermost text of m, its cause, was made in other, too, with
// the same codes. An error that no statement makes, as a fault injects it, stands for any
// cause and code of the same outermost text.
func (m Match) Holds(other Match) bool {
	if len(m.Chain) == 0 {
		return false
	}
	if injected := other.Unknown != "" && other.has(m.Chain[0]); !injected && !other.has(m.Chain[len(m.Chain)-1]) {
		return false
	}
	of, in := m.callCodes(), other.callCodes()
	return len(in) == 0 || !slices.ContainsFunc(of, func(code string) bool { return !slices.Contains(in, code) })
}

// callCodes are the codes of gRPC that tell errors apart: Unknown does not.
func (m Match) callCodes() []string {
	return slices.DeleteFunc(slices.Clone(m.Codes), func(code string) bool {
		return code == "Unknown" || code == strings.ToUpper(code)
	})
}

// Weight is how many letters and digits of the text the statements explain.
func (m Match) Weight() int { return m.weight }

func (m Match) has(x *Text) bool {
	return slices.ContainsFunc(m.Chain, func(o *Text) bool { return o.Kind == x.Kind && o.Format == x.Format })
}

// Alike is how many hundredths of m's texts and codes were made in other, too.
func (m Match) Alike(other Match) int {
	n := 0
	for _, x := range m.Chain {
		if other.has(x) {
			n++
		}
	}
	for _, c := range m.Codes {
		if slices.Contains(other.Codes, c) {
			n++
		}
	}
	return 100 * n / max(len(m.Chain)+len(m.Codes), 1)
}

// Functions are a release's functions that make the texts, with their types.
func (m Match) Functions(release string) (out []string) {
	for _, x := range m.Chain {
		for _, p := range x.Places {
			if p.Func != "" && p.in(release) {
				out = append(out, p.Func)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Releases are the tested releases that can make most of the texts of some matches, the
// oldest first. None if no match names a text.
func Releases(all []Match) (best []string) {
	can := map[string]int{} // how many texts a release makes
	for _, m := range all {
		for _, x := range m.Chain {
			of := map[string]bool{}
			for _, p := range x.Places {
				for _, r := range p.Releases {
					of[r] = true
				}
			}
			for r := range of {
				can[r]++
			}
		}
	}
	most := 0
	for r, n := range can {
		switch {
		case n > most:
			most, best = n, []string{r}
		case n == most:
			best = append(best, r)
		}
	}
	slices.SortFunc(best, semver.Compare)
	return best
}

// Line matches a line of a log, of containerd or of a client of it: the better of Log and
// Error.
func (t *Table) Line(message, err string) Match {
	if strings.HasPrefix(message, "panic: ") || strings.HasPrefix(message, "fatal error: ") {
		first, _, _ := strings.Cut(message, "\n")
		return Match{Chain: []*Text{{Kind: Panic, Format: first}}, weight: letters(first)}
	}
	logged, printed := t.Log(message, err), t.Error(message)
	if err != "" {
		printed = t.Error(message + ": " + err)
	}
	if printed.weight > logged.weight {
		return printed
	}
	return logged
}

// Log matches a logged message with the error that stands beside it, if any. Message and
// error are whole: without time and level, unquoted.
func (t *Table) Log(message, err string) Match {
	m := newSearch(t).text(t.logs, message)
	if m.weight == 0 {
		return Match{Unknown: message}
	}
	if err != "" {
		inner := t.Error(err)
		m = Match{Chain: append(m.Chain, inner.Chain...), Codes: append(m.Codes, inner.Codes...),
			Unknown: inner.Unknown, weight: m.weight + inner.weight}
	}
	return m
}

// Error matches the text of an error, as a client prints it.
func (t *Table) Error(text string) Match { return newSearch(t).error(text) }

// search is one matching. It tries each part of the text once, and mostParts at most.
type search struct {
	table *Table
	done  map[string]Match
}

// mostParts is how many parts of a line are looked at: a long chain of errors has ten.
const mostParts = 64

func newSearch(t *Table) *search { return &search{t, map[string]Match{}} }

// text is the best of the texts that make all of one, by the letters that it explains.
func (s *search) text(in index, text string) (best Match) {
	for _, x := range in.candidates(text) {
		found := x.compile().FindStringSubmatch(text)
		if found == nil {
			continue
		}
		m := Match{Chain: []*Text{x}, weight: x.weight}
		for _, wrapped := range found[1:] {
			inner := s.error(wrapped)
			m.Chain = append(m.Chain, inner.Chain...)
			m.Codes = append(m.Codes, inner.Codes...)
			m.weight += inner.weight
			if inner.Unknown != "" {
				m.Unknown = inner.Unknown
			}
		}
		if m.weight > best.weight {
			best = m
		}
	}
	return best
}

// mostError is how much of an error's text is looked at.
const mostError = 4 << 10

var rpcError = regexp.MustCompile(`(?s)\Arpc error: code = (\w+) desc = (.*)\z`)

// error is the best match of an error's text. Words that no statement makes are skipped
// up to the next colon: another program has made them.
func (s *search) error(text string) Match {
	if len(text) > mostError {
		text = text[:mostError]
	}
	text = strings.TrimSpace(text)
	if m, ok := s.done[text]; ok {
		return m
	}
	if len(s.done) >= mostParts {
		return Match{Unknown: text}
	}
	s.done[text] = Match{} // while it is looked for
	m := s.best(text)
	s.done[text] = m
	return m
}

func (s *search) best(text string) Match {
	if code := codes[text]; code != "" {
		return Match{Codes: []string{code}, weight: letters(text)}
	}
	if rpc := rpcError.FindStringSubmatch(text); rpc != nil {
		m := s.error(rpc[2])
		m.Codes = append([]string{rpc[1]}, m.Codes...)
		m.weight += letters(rpc[1])
		return m
	}
	best := s.text(s.table.errors, text)
	if i := strings.Index(text, ": "); i >= 0 {
		if m := s.error(text[i+2:]); m.weight > best.weight {
			switch code := codes[text[:i]]; {
			case code != "": // "context canceled: unknown"
				m.Codes = append([]string{code}, m.Codes...)
				m.weight += letters(text[:i])
			case m.Unknown == "":
				m.Unknown = text[:i]
			default:
				m.Unknown = text[:i+2] + m.Unknown
			}
			return m
		}
	}
	if best.weight == 0 {
		best.Unknown = text
	}
	return best
}

// codes are the texts of errdefs' errors and of errno.
var codes = func() map[string]string {
	all := map[string]string{
		"not found": "NotFound", "already exists": "AlreadyExists", "invalid argument": "InvalidArgument",
		"failed precondition": "FailedPrecondition", "unavailable": "Unavailable", "not implemented": "NotImplemented",
		"context canceled": "Canceled", "context deadline exceeded": "DeadlineExceeded", "unknown": "Unknown",
		"resource exhausted": "ResourceExhausted", "permission denied": "PermissionDenied", "aborted": "Aborted",
		"out of range": "OutOfRange", "internal": "Internal", "unauthenticated": "Unauthenticated",
		"ttrpc: closed": "ttrpc-closed", "EOF": "EOF", "unexpected EOF": "EOF",
	}
	for n := syscall.Errno(1); n < 134; n++ {
		if name := unix.ErrnoName(n); name != "" && all[n.Error()] == "" {
			all[n.Error()] = name
		}
	}
	return all
}()
